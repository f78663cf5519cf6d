"""Section 2.4, Complexity and memory analysis (and the costs in Section 2.1), and forms of the layer that reach them.

`basis_layer`: the layer through a basis without any N x N matrix, as counted.
`orders`: operations and memory of the naive layer, of exp[S], of OSA and of softmax attention.
`push_through`, `push_through_gradients`: the layer through d x d matrices, its accuracy and its gradients (of this project).
"""
