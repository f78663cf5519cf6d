"""Appendix A, known definitions and properties: Eqs. (6)-(14) (`products`) and (15)-(18) (`derivatives`)."""
