import { RecordBatchStreamWriter } from 'apache-arrow';
import { describe, expect, test, type TestOptions } from 'vitest';
import { encodeArrowStream } from '../encode/arrow-stream.ts';
import { encodeJsonTable } from '../encode/row-formats.ts';
import type { DecodedFormat } from '../encoding.ts';
import type { FrameStream } from '../streams.ts';
import { bodyOf, bytesOf } from './bytes-of.ts';
import { ENCODING_CHECKS } from './encoding-checks.ts';
import type { SampleFrame } from './sample-frame.ts';
import { SAMPLE_FRAMES } from './sample-frames.ts';

type Decode = (body: AsyncIterable<Uint8Array>) => Promise<FrameStream>;

/** How to write a sample in a format, without our encoders, and how to check it when read. */
interface Direction {
  readonly write: (sample: SampleFrame) => Uint8Array | string;
  readonly check: (frame: FrameStream, sample: SampleFrame) => Promise<void>;
}

const DIRECTIONS: Readonly<Record<DecodedFormat, Direction>> = {
  json: { write: (sample) => `[${objectsOf(sample).join(', \n')}]`, check: checkReading },
  ndjson: {
    write: (sample) =>
      objectsOf(sample)
        .map((object) => `${object}\n`)
        .join(''),
    check: checkReading,
  },
  arrow: { write: writeArrowStream, check: checkArrow },
};

/** Options of `decodingContract`. */
export interface DecodingContractOptions {
  /** The options of the tests that give the body of each sample in small chunks; they take the longest. */
  readonly smallChunks?: TestOptions;
}

/** The contract of all decoders. */
export function decodingContract(format: DecodedFormat, decode: Decode, options: DecodingContractOptions = {}): void {
  const { smallChunks = {} } = options;
  const { write, check } = DIRECTIONS[format];

  describe(`${format} keeps the decoding contract`, () => {
    test.each(SAMPLE_FRAMES)('$name: every cell of a body in one chunk', async (sample) => {
      await check(await decode(bodyOf(write(sample))), sample);
    });
    test.each(SAMPLE_FRAMES)('$name: every cell of a body in small chunks', smallChunks, async (sample) => {
      await check(await decode(bodyOf(write(sample), 997)), sample);
    });

    test('bytes of another format are invalid_data', async () => {
      const reading = async () => bytesOf(encodeArrowStream(await decode(bodyOf('\0 is no frame'))));
      await expect(reading()).rejects.toMatchObject({ code: 'invalid_data' });
    });

    test('a truncated body is invalid_data', async () => {
      const body = Buffer.from(write(SAMPLE_FRAMES[0]));
      const reading = async () => bytesOf(encodeArrowStream(await decode(bodyOf(body.subarray(0, -20)))));
      await expect(reading()).rejects.toMatchObject({ code: 'invalid_data' });
    });

    test('a failing body rejects with its error', async () => {
      async function* failing() {
        yield* bodyOf(Buffer.from(write(SAMPLE_FRAMES[0])).subarray(0, -20));
        throw new RangeError('no more');
      }
      const reading = async () => bytesOf(encodeArrowStream(await decode(failing())));
      await expect(reading()).rejects.toThrow(new RangeError('no more'));
    });
  });
}

/** Each row as a JSON object of its texts. */
function objectsOf({ schema, rows }: SampleFrame): string[] {
  const keys = schema.fields.map(({ name }) => JSON.stringify(name));
  return rows.map(({ json }) => `{${json.map((cell, i) => `${keys[i]}:${cell}`).join(',')}}`);
}

function writeArrowStream({ schema, batches }: SampleFrame): Uint8Array {
  const writer = new RecordBatchStreamWriter();
  writer.reset(undefined, schema);
  for (const batch of batches) writer.write(batch);
  return writer.finish().toUint8Array(true);
}

async function checkReading(frame: FrameStream, { reading: { columns, rows } }: SampleFrame): Promise<void> {
  const text = (await bytesOf(encodeJsonTable(frame, { query: 'q' }))).toString();
  const dataset = rows.map((row) => `[${row.join(',')}]`).join(',');
  expect(text).toBe(`{"query":"q","columns":${JSON.stringify(columns)},"dataset":[${dataset}],"count":${rows.length}}`);
}

async function checkArrow(frame: FrameStream, sample: SampleFrame): Promise<void> {
  await ENCODING_CHECKS.arrow(await bytesOf(encodeArrowStream(frame)), sample);
}
