"""The kernels themselves: types, layouts, implementations, work that need not be done."""
