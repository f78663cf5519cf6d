"""Section 5.1 and Appendix E.1: the experiments with synthetic data, Figures 2, 3 and 5, and the distance of kernels."""
