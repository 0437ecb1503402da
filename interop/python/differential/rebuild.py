"""Rebuilds arrays without slices, dictionaries and hidden values, and maps every leaf with a function."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as is_type


def rebuild(array, leaf, names_of=list):
    """
    An array of the same values: nested ones are lists, structs and maps with plain names, dictionaries are their
    values, nothing is left under a null. `leaf` makes an array of what is none of these, `names_of` the names of a struct.
    """
    kind = array.type
    if isinstance(array, pa.ChunkedArray):
        chunks = [rebuild(chunk, leaf, names_of) for chunk in array.chunks]
        return pa.concat_arrays(chunks) if chunks else rebuild(pa.nulls(0, kind), leaf, names_of)
    if is_type.is_dictionary(kind):
        # Take first: dictionary values without an index do not count.
        used = array.indices.unique().drop_null()
        values = rebuild(taken(array.dictionary, used), leaf, names_of)
        return values.take(pc.index_in(array.indices, used))
    if is_type.is_map(kind):
        entries = rebuild(items_of(as_list(array)), leaf, names_of)
        pairs = pa.map_(pa.field("key", entries.type[0].type, False), entries.type[1].type)
        return pa.MapArray.from_arrays(offsets_of(as_list(array)), *entries.flatten(), type=pairs, mask=nulls_of(array))
    if is_list(kind):
        values = rebuild(items_of(array), leaf, names_of)
        return pa.ListArray.from_arrays(
            offsets_of(array), values, type=pa.list_(pa.field("item", values.type)), mask=nulls_of(array)
        )
    if is_type.is_struct(kind):
        if kind.num_fields == 0:
            return leaf(without_fields(array))
        children = [rebuild(child, leaf, names_of) for child in array.flatten()]
        names = names_of([field.name for field in kind])
        fields = [pa.field(name, child.type) for name, child in zip(names, children)]
        return pa.StructArray.from_arrays(children, fields=fields, mask=nulls_of(array))
    return leaf(array)


def is_list(kind):
    return any(
        is_kind(kind)
        for is_kind in (
            is_type.is_list,
            is_type.is_large_list,
            is_type.is_fixed_size_list,
            is_type.is_list_view,
            is_type.is_large_list_view,
        )
    )


def taken(array, indices):
    """pyarrow takes no views."""
    if is_type.is_string_view(array.type):
        return array.cast(pa.string()).take(indices)
    if is_type.is_binary_view(array.type):
        return array.cast(pa.binary()).take(indices)
    return array.take(indices)


def as_list(array):
    """Returns a map as a list of its entries."""
    entries = pa.StructArray.from_arrays(
        [array.keys, array.items], fields=[array.type.key_field, array.type.item_field]
    )
    return pa.Array.from_buffers(
        pa.list_(entries.type), len(array), array.buffers()[:2], offset=array.offset, children=[entries]
    )


def items_of(array):
    """The items of all lists that are not null, in order. (pyarrow's own `flatten` fails on some extension types.)"""
    if is_type.is_fixed_size_list(array.type):
        size = array.type.list_size
        starts = (array.offset + np.arange(len(array))) * size
        ends = starts + size
    elif is_type.is_list_view(array.type) or is_type.is_large_list_view(array.type):
        starts = array.offsets.to_numpy()
        ends = starts + array.sizes.to_numpy()
    else:
        starts, ends = array.offsets.to_numpy()[:-1], array.offsets.to_numpy()[1:]
    is_seen = array.is_valid().to_numpy(zero_copy_only=False) & (ends > starts)
    starts, ends = starts[is_seen], ends[is_seen]
    # Merge adjacent ranges.
    begins = np.flatnonzero(np.append(True, starts[1:] != ends[:-1])) if len(starts) > 0 else []
    runs = [array.values.slice(starts[i], ends[j - 1] - starts[i]) for i, j in zip(begins, [*begins[1:], len(starts)])]
    return pa.concat_arrays(runs) if runs else array.values.slice(0, 0)


def offsets_of(array):
    lengths = pc.fill_null(pc.list_value_length(array), 0)
    return pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())])


def nulls_of(array):
    return array.is_null() if array.null_count > 0 else None


def without_fields(array):
    return pa.array([None if value is None else {} for value in array.to_pylist()], pa.struct([]))


def kinds_in(kind):
    """A type and all types in it."""
    yield kind
    if is_type.is_dictionary(kind) or is_list(kind):
        yield from kinds_in(kind.value_type)
    elif is_type.is_map(kind):
        yield from kinds_in(kind.key_type)
        yield from kinds_in(kind.item_type)
    elif is_type.is_struct(kind):
        for field in kind:
            yield from kinds_in(field.type)
