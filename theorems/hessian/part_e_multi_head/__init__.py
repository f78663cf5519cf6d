"""Appendix E, multi-head self-attention: Remark E.1 and the text (`multi_head`), Appendix E.1 with Eq. (24) (`low_rank_values`)."""
