"""Section 5.1 and Appendix E.1, experiments: Figures 2, 3 and 5 (`synthetic_data`), the distance of kernels."""
