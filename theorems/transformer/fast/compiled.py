from theorems.transformer.fast.blocks import Options
from theorems.transformer.fast.functions import Attention

def attend(*args):
    return Attention.apply(*args)[0]
