"""Section A.7, Jacobian conditioning during training: its text and Tables 5-6, in `conditioning`."""
