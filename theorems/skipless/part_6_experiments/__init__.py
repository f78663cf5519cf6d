"""Section 6 and Appendix A.2, experiments: Tables 1-4 and Fig. 3 against each other, `tables`, and the text on them,
`comparisons`."""
