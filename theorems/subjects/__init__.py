"""What the gate knows of definitions whose place code of others can take: layouts, sizes, inputs, and known mistakes."""
