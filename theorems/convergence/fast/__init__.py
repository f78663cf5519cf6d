"""Fast functions for users: the tangent kernel and its limit without a Jacobian, certified by claims of the paper."""
