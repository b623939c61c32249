"""What a search keeps its nodes in: arrays that grow, a binary heap of open nodes, a sort and a selection.

Numba's own `concatenate` and `argsort` do the same, and take seconds to compile.
"""

import numpy as np

from headgate.kernels.part import njit


@njit(error_model="numpy")
def grown(table):
    """A copy of a table with twice as many rows."""
    wide = np.empty((2 * table.shape[0], table.shape[1]))
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            wide[i, j] = table[i, j]
    return wide


@njit(error_model="numpy")
def longer(numbers):
    """A copy of whole numbers with room for as many again."""
    wide = np.empty(2 * numbers.size, np.int64)
    for i in range(numbers.size):
        wide[i] = numbers[i]
    return wide


@njit(error_model="numpy")
def sorted_order(keys):
    """The order in which the keys grow, equal ones as they stand: merge sort."""
    size = keys.size
    order, merged = np.empty(size, np.int64), np.empty(size, np.int64)
    for i in range(size):
        order[i] = i
    width = 1
    while width < size:
        for start in range(0, size, 2 * width):
            left, right = start, min(start + width, size)
            middle, end = right, min(start + 2 * width, size)
            for k in range(start, end):
                if left < middle and (right >= end or keys[order[left]] <= keys[order[right]]):
                    merged[k] = order[left]
                    left += 1
                else:
                    merged[k] = order[right]
                    right += 1
        order, merged = merged, order
        width *= 2
    return order


@njit(error_model="numpy")
def push(heap, size, bounds, node):
    """Add a node to the binary heap of open nodes, largest bound on top."""
    place = size
    while place > 0:
        parent = (place - 1) // 2
        if bounds[heap[parent]] >= bounds[node]:
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = node
    return size + 1


@njit(error_model="numpy")
def pop(heap, size, bounds):
    """Take the node with the largest bound off the heap."""
    top, last, size = heap[0], heap[size - 1], size - 1
    place = 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and bounds[heap[child + 1]] > bounds[heap[child]]:
            child += 1
        if bounds[last] >= bounds[heap[child]]:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = last
    return top, size


@njit(error_model="numpy")
def largest(values, m):
    """The m-th largest of the values (m >= 1), by quickselect; the array is reordered."""
    low, high, k = 0, values.size - 1, m - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]
