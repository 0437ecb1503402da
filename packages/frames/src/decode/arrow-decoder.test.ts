import {
  Bool,
  DateDay,
  Dictionary,
  Field,
  Float16,
  Float32,
  Int32,
  Int8,
  List,
  makeData,
  Message,
  RecordBatch,
  RecordBatchFileWriter,
  Schema,
  Struct,
  Table,
  tableFromArrays,
  tableToIPC,
  TimestampNanosecond,
  Uint64,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { decodeBody, type DecodeBodyOptions, plainRows, refusalOf, streamOf } from '../../test/decode-body.ts';
import { decodeArrow } from './arrow-decoder.ts';

/** Written by pyarrow 26 (gzip and base64 around them). */
const PYARROW = {
  lz4File:
    'H4sIAAAAAAACA93Xf0xVZRjA8ff+4HLFG1y5ZEhE1wvCFRH5JV4B4YKIRIpEhEZmQEhohkakSKZXMjIzIzIiIzIjIzMjMzMzIzNizTXnXHOtOdZcY6411pxzzWXfc86LwsnGH/3Xu33uc57zvue951447/Pe7OLiRYsThbhGGxBC2IXSAoRNWISfsHJEM5jJBZmVV7N8FcKEBnhk3sUcDDYpc4TLc0rzQ11F/YrVzGmFRT1rFGe18X768UqsX95Qrx2b1dwuQtRr/dU7scv7NBj11xqxokq5Vxv81XtVBnplv/I5rQbBbFqziVD5SW3qzMJkVudzB4jrzcYZu/q5tTHt8j2VOfpvDLt+r/4jzrlkdMuYbtJijUmMasP5cH+39iWJTNk/aBk9fjjPGjGPacT9GGTsH33ZP/JJw/fuWhha7m0az2H8pmsGUaR8UddujPNaRo2L4r0cvInDYBUOI0wwww8WqzAbhcM6TjjGkQZgPGy4BYEIgh0TEAwHQnArJuI2hGISwnA7wnEHInAnnJgMFyIRhSmIRgzcmIpYTEMcpiMeM5CARCQhGSmYiVTMggezkYZ0ZGAOMpEFL7KRg7nIxTzkYT7ycRcKcDcWYCEKsQhFuAfFuBcluA+lWIwluB9leABL8SCW4SGUowKVeBhVWI5qPIIarMBKPIpVeAy1WI01eBx1eAL1eBJrsQ4NWI9GPIUNeBobsQk+bEYTnsEWPItmPIeteB7b8AK240XswEtowctoxSvYiVfRhtfQjtexC2+gA2+iE29hN97GHryDLryLvXgP3Xgf+/AB9uNDHMBH6MHHOIhPcAif4jA+wxF8jqP4AsfwJY7jK/Tia5zANziJb9FnFb7vdI+ZiDLpnx+fklrU5UWIYIQiQhmKWCQgFRnIQT4KUYIylKMaq5TlVS7FG7EF29CCNnRgj7Kk4AAO4Sh60YdTOINzOI8LuIghXMZVZVllPVGWzUBl6UQYnIhGHJLgQSZyUYAilGIpKlGDWtSjET40Yzta0Y5OdGEfenAYx3AC/fgBZ/ETBvArfsMfuIK/wNojAmDHRITDBTfikYI0eJGHBSjGEixDFVZiDdZiA5qwFTuwE7uwG3uxHwdxBMdxEt/jNH7Ez/gFg/gdl/CnUVuvLbAhGKGIMGn/KrFIQCoykIN8FKIEZShHNVahDg3YiC3Yhha0oQN70I0DOISj6EUfTuEMzuE8LuAihnAZV2GkrlkRiBCEwYloxCEJHmQiFwUoQimWohI1qEU9GuFDM7ajFe3oRBf2occ84vkZTuTzE8NhxbrVdVXOBIuYkIgkJCPFIoIi1DK/vkjpT7lp/XKblNJnEK7TWUHCMcBTO4ghXMIVXLVSu70erbqZtarmsMpyZpNl7D+WsGCntoxGisl2YVKiS8ZIGaNknCJjtIwxMrplnCpjrIzTZIyTcbqM8TLOUKNLJNi1OubT1rNIkehUOm7kSbo8WZen6PKZujxVl8/S5R5dPluXp+nydF2eocvn6PJMXZ41Kucv7NQ2El5ZUH2ysCiL+4ByQbZXveBf+3PG6J87Rn/uGP3zxujPG6N//hj9+Tft7+nN13bMAzIO7wbtasEKUXfyNjKb3Pl65B7XLPeeQ/K5tcuN6Mj9tPgf/JZQimG2+tvpb5Vm0adCDQAA',
  zstdStream:
    'H4sIAAAAAAACA/v/////BwwMDAIMIMDFwMPAxsDKwAFkAQEjC5DPAORxAEkWKMnAwAzEFUBsAeUvAZoBVMwMMkMGKgYCrEBclFiSmQ80kwOI2cCiTAxXIOpZ0dWD6JLUihIImwXMF2AQAetlB7tEAOpORiZ0vUxAnJkCcisPELOD3QpS6ACVB1r5X4CRAWgaBPAwSEB9ygM2mYGZBWzeDpiBYDVyQPtY4GoWALEKEEsA8QkGZMAGtpMNaic7kowklFaA0taMEDqBEcUAOP8wlNZghtD1UPkVzKjqYXweJHOYkdwFE0Z1JyYf5j6Nrfp/FSRdgUFc/5+RwfQAE1TcgQ0hn+DA6svJ4DbTTUFhzXbm/3AQraKEBCQm+jBaMtgxODCUv7221Do8L2ZH/t1tqbvDcqO2pJ+dpmodlhOxIX5v2dNdodlha8LXhi21Cs0KWeE/1yx1V0hm0BL3Xr5gl48uwt4qhS6CziwfnfmtnxQ48xof+eDErb2kwIlTueWDI7t0SoEjq7DLBwdmbpUCB0Zmlg/r7++r+f7qbLd5TN7K1GkRcZmpU0P8NFOnBNi9TJnso7cyZZKHXGbKRBc+zZQJDv9eJPfbvFuR3GdxLyO51+ScRnKPwb4XSd0661Yo/XcV9RW56MyrO+WCIyuvyAX7v28mn7f9ekb4vPXbNZPPWT7tET5nfjdn8lnTqz7CZ43P6kw+Y3iUR/iM/t43Rg3HIpgYBL5UszFE8ILDTYUZKfxUmHp5GdyKsm0eTGvdwqYhs8wi4qHB0YNc7Zp8YRY+hRsOJXY1J16uvGM1b/a5x9c+3imR2973fNnnHaU25nOPr328M7MxRzPYiyGWIY7BTPqs2uaDOXrSp5dturtwz8mpf0502pyorTleuOdY6p+jkTZHfWuOOO45bPrn0HK5r8vNa1962lddbJf7Mv97zXPL/ZVn0+U+T99e81RT/vqD5A+6P0RqOO1Y7jeePxD+QPkD7w+WGkY7hvitrjfn5HibqURP9D3xLfnxxqc3cnKMzSSiu32PliUpb2y9YZMjbcYT3eqb1Xxrjtky30znWz1mi3wzmG/VmM3zTT98k+n6Fe1XX79kVenunRTnvn7R9QvaL75+flX5dk9RnPn6WdfPaD/7+imrcu2eoLj96vKT9U+mP5H+xPizqsZqn7R8r/6x54+iPy784VWjtI9fvl3/cPrDxR98f6jUCNpx3G8+f5AxXGudX8zEHVyFTx9mHRZtW80VHhQeEO4X7hPuFe4R7hbuEu4U7hBuF24TbhVuEW4WbhJuFG4QrheuE64V/r3pU9anoE9Wn5Q+cX369PHWx0MfV32c9LHqY9JHr49GH6U+Mn189eHSh10GkPjbwIIUjxuYc5kZinrFeC+kWqT2siQEe3nKCihyM0k0bgouO+V3U9M6dfmbKXPJ4DQzuCUIHOBgaji6RODDb8kH14H5MGL2FCb0fHiVneHSeT2tAPMUi4bdpbk9obwzZ84UNk5OSntWEhK6ICsyFALenDlzZs3apes0X0f+X79c8GrQ+dWCV4VAxKVzQGISiAgCEUIg4tJZkBiIuKQXXmw56/TZGL9nRYbTm3feOf00Ru96keW002tj/J4WaU533nnn5FOftJMqM5WDU9p8Jvw0tE07/mSGdHBymk9PpeFkV9ajLS4sR5qdmQ83OTEdanRkPNjgwHBAToiL6Vfk9R81DcdWCJywe3BdQOiEOfPi5+Ixt7mvfQBR2eEvDML7RPJa2T8uvRBY+sXvxVwQPGE9cffbTYvdeDVMJWHlOYgGAEr8pRbABgAA',
  deltas:
    'H4sIAAAAAAACA9VSMQ7CMAw8N6GtUIQyINSRhzAy8glgBTGwwA8YeQYjI78LThxoG0ELEguW3Gvis3O27JxzZwAW3oYwyDFAyX9spKEZbszxSOzjwK2YkaNgtuUbyaWBj83Zp+waYjn7/rhd7TbgnDJE/NfAnw17Ec6+gETlTX7SXeJ7CPxxVGZCLjIdYlWMi2Kp/eilYqaOkUW8z1CbwnszEW3EZh4l51f3y5Wg7+PU6mPS7kPp0EP5rNLWPXuhO+vQ3auTal3XLl2Z6LINXaOgs5Dd4Epdc6YP51wmmOqnNz2u19/N1/bMV3XMsKlPJTGV8FRS49/3+HD87R7Th3tMPXtAjfl6vANBXiy2yAQAAA==',
  nested:
    'H4sIAAAAAAACA41UsW7UQBCdtX2XU+QgFwZZiGILJFokKCiuiESTgiJFkCgo4oAVWzp8yLfkEr6AMiUlZUrKK/gAyhQUV6akoEiZBpbZ3dk7ezgrjDSenZs3b96u16e11osAIAFj2xDDEAYwwhWaiDAHzEb4jOgJNr7GHom+EACH6Df4m0LfI8yP31ojwbbhlfQbUJyXRQ2Wx0xz7ACBrYXoLw+eQ/rH9gvTn7H+eloXdo2YscPtZK05KAvG6Cn6EH2mmg9vUNxTxE4cfpBQ3fPiFuAI/RXWzx0m2ITJ0X/ZOohdfHxz2CRtzTe4B7R+n1cN2F1GVovRdt3i53urVPHOrPe1m2HPz67F3bTFK1ra5tVbex4p4l7o9f76uMeIUQ4X93FOqpl5nVAi7ote65U9nOZdjmCL3iUIg1u6vpRrGRj+vDk2or8jJsGpIzydLXvbErqLIkta2vy8k6qYu3Vkc2zXV4HTbSyGe3SDY8sGYWQ5SkEAuIN5Qrc5xgzgEmsPwX0DIaxNkHu7z2pA34KxxxSfUXxE8ZDhS4qS4ieKfu45w3+mmFC8gK5dMB1fWf+CzVuy/iXrv2L9P1l+zfKb1bkTj+jWE5ZntMj8uYmuHp/7/e5SHlC+x/j2GZ+xndZ5Cna+fXnAzoXXxS31IeP53/mcL+zBD1pxVk4bBZvN3LtcqsLnZn2qpCpzJauZnEzr46IxaS3VvJicFPLoTBWzFT/07NvrOT372NHj9+xdUAxv4ROslrN9PlnVApofdephz3uBDd9vYHXDP7o36dPufxf+AkuGCEwYBwAA',
};

/** A file that polars 2.1 wrote: its schema has no message in front, and its dictionary follows the batch that needs it. */
const POLARS_FILE = gunzipSync(
  Buffer.from(
    'H4sIAAAAAAACA+VUMUvDUBD+EoNEDRJrhuiU0bHWpZAloYgIhUooWESobo6CCLr1B/gD/AkODh39RR3ESUQchPjdy1XShxWKowf37r27d1/uvlySF0XveBfwALyWZRlB9g7XVazB5+rhkn6Ju9RHVHcn9N3T3lEvqGfUmOrEDWzzRowtZgcIERk0yXljTkIbUCXmcfW5b6bN9HqvlXLL+8DwqDvs5P39g15x2Mm7Lah8ML/K9Q3iu+IBy/R4+DR1VtVfUV94btMm09pcwW/wRogNgxGYbKkrk7jBXjF1yf6cylA51voFb6S1VDwtEWHTYEo3z4y7Gj/VXoTHiDFhwsN8CdVmln969ms+VxWWry7OHP8i4vwhV3h7qPGWzfDmzvBmv9dJjcc+dUfzgHW+x4pL6Fz9xkFdEquvn/i6sc63C/aLWr8D2vZ3vzJpDTMBMveCnWjxT5o/sp490ALH1hz832/xhCY3f6svuN5hnrQEAAA=',
    'base64',
  ),
);

function pyarrow(name: keyof typeof PYARROW): Uint8Array {
  return gunzipSync(Buffer.from(PYARROW[name], 'base64'));
}

function decode(bytes: Uint8Array, options: DecodeBodyOptions = {}) {
  const decoded = decodeBody(decodeArrow, bytes, options);
  return { ...decoded, rows: plainRows(decoded.batches) };
}

const failure = (bytes: Uint8Array, options: DecodeBodyOptions = {}) => refusalOf(() => decode(bytes, options));

const SAMPLE = new Table({
  n: vectorFromArray([1, null, 3], new Int32()),
  s: vectorFromArray(['x', 'yé', null], new Utf8()),
  d: vectorFromArray(['u', 'v', 'u'], new Dictionary(new Utf8(), new Int8())),
  b: vectorFromArray([true, false, null], new Bool()),
  u: vectorFromArray([1n, 2n, 3n], new Uint64()),
  f: vectorFromArray([1.5, null, 2.5], new Float32()),
  h: vectorFromArray([1.5, 0, 2.5], new Float16()),
  t: vectorFromArray([0, 1, 2], new TimestampNanosecond()),
  day: vectorFromArray([0, 1, 2], new DateDay()),
  l: vectorFromArray([[1, 2], [], null], new List(new Field('item', new Int32(), true))),
});

describe('what Arrow writers write is read', () => {
  test.each(['stream', 'file'] as const)('a %s of apache-arrow, in chunks of any size', (kind) => {
    const bytes = tableToIPC(SAMPLE, kind);
    const expected = plainRows(SAMPLE.batches);
    for (const chunkBytes of [1, 7, 64, Infinity]) {
      const { rows, schema } = decode(bytes, { chunkBytes });
      expect(rows).toEqual(expected);
      expect(String(schema)).toBe(String(SAMPLE.schema));
    }
  });

  test.each(['lz4File', 'zstdStream'] as const)('the compressed bodies of %s', (name) => {
    const { rows } = decode(pyarrow(name), { chunkBytes: 100 });
    expect(rows).toHaveLength(200);
    expect(rows.slice(6, 9)).toEqual([
      { id: 6, text: 'word 1', ratio: 1.5 },
      { id: null, text: 'word 2', ratio: 1.75 },
      { id: 8, text: 'word 3', ratio: 2 },
    ]);
  });

  test('dictionaries that grow and are replaced between batches', () => {
    const { rows, batches } = decode(pyarrow('deltas'));
    expect(rows.map((row) => row.symbol)).toEqual(['a', 'b', 'cc', 'a', null, 'y']);
    expect(batches.map((batch) => batch.getChildAt(0)?.data[0].dictionary?.data.length)).toEqual([1, 1, 1]);
  });

  test('views, large and nested types', () => {
    expect(decode(pyarrow('nested')).rows).toEqual([
      {
        view: 'short',
        large: 'x',
        list: [1, 2],
        wide: ['a'],
        pair: [1, 2],
        struct: { a: 1, b: 'x' },
        none: null,
        when: 0,
      },
      { view: null, large: null, list: null, wide: [], pair: null, struct: null, none: null, when: null },
      {
        view: 'a text that is longer than twelve bytes',
        large: 'yz',
        list: [],
        wide: null,
        pair: [3, 4],
        struct: { a: null, b: 'y' },
        none: null,
        when: 0.001,
      },
    ]);
  });

  test('a stream that is only a schema', () => {
    const message = Message.encode(Message.from(SAMPLE.schema));
    const padded = new Uint8Array(Math.ceil(message.length / 8) * 8);
    padded.set(message);
    const head = new Uint8Array(new Uint32Array([0xffffffff, padded.length]).buffer);
    const { schema, batches } = decode(Buffer.concat([head, padded]));
    expect([schema.names, batches]).toEqual([SAMPLE.schema.names, []]);
  });

  test('batches without rows, also between others, which vanish', () => {
    const [batch] = SAMPLE.batches;
    const { batches } = decode(streamOf(batch.slice(0, 0), batch, batch.slice(0, 0)));
    expect(batches.map(({ numRows }) => numRows)).toEqual([3]);
  });

  test('batches of no columns keep their rows', () => {
    const schema = new Schema([]);
    const batch = new RecordBatch(schema, makeData({ type: new Struct([]), length: 5, nullCount: 0, children: [] }));
    expect(decode(streamOf(batch)).batches[0].numRows).toBe(5);
  });

  test('a stream may end without its end marker', () => {
    const bytes = tableToIPC(SAMPLE, 'stream');
    expect(decode(bytes.subarray(0, bytes.length - 8)).rows).toHaveLength(3);
  });

  test('a compressed frame is counted as it is when decompressed', () => {
    const size = 200 * 8 * 2 + 201 * 4 + 200 * 6 + 25;
    expect(failure(pyarrow('zstdStream'), { maxBytes: size - 100 }).code).toBe('out_of_memory');
    expect(decode(pyarrow('zstdStream'), { maxBytes: size + 2000 }).rows).toHaveLength(200);
  });

  test('a view that points outside of its data', () => {
    const bytes = Buffer.from(pyarrow('nested'));
    const at = bytes.indexOf('a te') - 4;
    bytes.writeInt32LE(1, at + 8);
    expect(failure(bytes).message).toBe(
      'Column "view" of record batch 1: the view of row 2 points outside of its data.',
    );
  });

  test('a file of polars', () => {
    expect(decode(POLARS_FILE, { chunkBytes: 7 }).rows).toEqual([
      { a: 1, s: 'x' },
      { a: 2, s: 'y' },
    ]);
  });

  test('a large batch owns exactly the memory of its body', () => {
    const batch = tableFromArrays({ a: new Float64Array(100_000) }).batches[0];
    const { batches } = decode(streamOf(batch, batch));
    const buffers = batches.map(({ data }): ArrayBuffer => data.children[0].values.buffer);
    expect(new Set(buffers).size).toBe(2);
    expect(buffers.map(({ byteLength }) => byteLength)).toEqual([800_000, 800_000]);
  });
});

describe('what is cut or not Arrow is invalid_data', () => {
  test.each(['stream', 'file'] as const)('a %s cut anywhere inside of a message', (kind) => {
    const bytes = tableToIPC(SAMPLE, kind);
    const whole = new Set(messageEnds(bytes));
    for (let length = 1; length < bytes.length; length += 13) {
      if (kind === 'stream' && whole.has(length)) continue;
      expect(failure(bytes.subarray(0, length)).code).toBe('invalid_data');
    }
  });

  test.each([
    ['nothing', '', 'The body is empty.'],
    ['JSON', '[{"a":1}]', 'The body is neither an Arrow IPC stream nor an Arrow IPC file.'],
    ['a few bytes', 'ab', 'The body is neither an Arrow IPC stream nor an Arrow IPC file.'],
    ['the magic word alone', 'ARROW1\0\0', 'The Arrow data is cut: it ends inside of a message, at byte 8.'],
  ])('%s', (_name, body, message) => {
    expect(failure(Buffer.from(body))).toMatchObject({ code: 'invalid_data', message });
  });

  test('an end marker alone has no schema', () => {
    expect(failure(Buffer.from('ffffffff00000000', 'hex')).message).toBe('The Arrow data has no schema.');
  });

  test('bytes after the end of a stream', () => {
    const bytes = tableToIPC(SAMPLE, 'stream');
    expect(failure(Buffer.concat([bytes, bytes])).message).toBe(
      `Bytes follow the end of the Arrow stream, at byte ${bytes.length}.`,
    );
  });

  test('a file of polars cut anywhere, or whose footer points elsewhere', () => {
    for (let length = 1; length < POLARS_FILE.length; length += 13) {
      expect(failure(POLARS_FILE.subarray(0, length)).code).toBe('invalid_data');
    }
    const footer = POLARS_FILE.lastIndexOf(Buffer.from([0x20, 1, 0, 0, 0, 0, 0, 0]));
    const moved = Buffer.from(POLARS_FILE);
    moved[footer] ^= 8;
    expect(failure(moved).message).toBe('The Arrow message at byte 296 is not where the footer says.');
  });

  test('a file whose footer knows other batches than it has', () => {
    const writer = new RecordBatchFileWriter();
    writer.write(SAMPLE.batches[0]);
    const bytes = writer.finish().toUint8Array(true);
    const text = Buffer.from(bytes).toString('latin1');
    const second = text.slice(text.indexOf('\xff\xff\xff\xff'), text.lastIndexOf('\xff\xff\xff\xff'));
    const doubled = Buffer.from(`${text.slice(0, 8)}${second}${text.slice(8)}`, 'latin1');
    expect(failure(doubled).message).toMatch(/names 1 record batches, the file has 2/);
  });
});

/** Where the messages of a stream end. */
function messageEnds(bytes: Uint8Array): number[] {
  const ends: number[] = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  for (let at = 0; at + 8 <= bytes.length;) {
    const length = view.getInt32(at + 4, true);
    if (length <= 0) break;
    at += 8 + length + Message.decode(bytes.subarray(at + 8, at + 8 + length)).bodyLength;
    ends.push(at);
  }
  return ends;
}

test('decoded columns have the array types of apache-arrow', () => {
  const { batches } = decode(tableToIPC(SAMPLE, 'stream'));
  const types = batches[0].data.children.map((data) => data.values?.constructor.name);
  expect(types).toEqual(SAMPLE.batches[0].data.children.map((data) => data.values?.constructor.name));
});
