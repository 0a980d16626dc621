"""Arrays put together from addresses, inside kernels.  Not there when the JIT is switched off."""

from __future__ import annotations

from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array


@intrinsic
def array_at(typing_context, address, rows, columns, dtype):
    """The array at an address, (columns,) if rows is None, else (rows, columns); it owns nothing."""
    flat = isinstance(rows, types.NoneType)
    element = dtype.dtype  # numba's name for it, of a number class and of a record alike
    kind = types.Array(element, 1 if flat else 2, "C")

    def generate(context, builder, signature, arguments):
        array = context.make_array(kind)(context, builder)
        size = context.get_abi_sizeof(context.get_data_type(element))
        step = context.get_constant(types.intp, size)
        shape = [arguments[2]] if flat else [arguments[1], arguments[2]]
        strides = [step] if flat else [builder.mul(arguments[2], step), step]
        data = builder.inttoptr(arguments[0], array.data.type)
        populate_array(array, data, shape, strides, step, None)
        return array._getvalue()

    return kind(address, rows, columns, dtype), generate
