import { encodeArrowStream } from '@svc/frames';
import { bytesOf, SAMPLE_FRAMES, streamOfSample } from '@svc/frames/testing';
import { expect, test } from 'vitest';
import { columnsOf } from '../../api/arrow-columns.ts';
import { decodeArrow } from '../../api/decode-arrow.ts';
import { createAnswerRows } from '../../rows/answer-rows.ts';
import { axisOf } from '../axis.ts';
import { placeFromText } from '../place-text.ts';
import { placeReader, textReader } from './value-text.ts';

test.each(SAMPLE_FRAMES.map((sample) => [sample.name, sample] as const))(
  'the numbers and times of %s have the places that their texts have',
  async (_, sample) => {
    const table = decodeArrow(await bytesOf(encodeArrowStream(streamOfSample(sample))));
    const rows = createAnswerRows(columnsOf(table.fields));
    rows.append({ kind: 'arrow', table, rowCount: table.rows });
    for (const [index, { name, type }] of rows.columns.entries()) {
      const axis = axisOf(type);
      if (!axis) continue;
      const field = { index, name, type };
      const [placeOf, textOf] = [placeReader(rows, field, axis), textReader(rows, field)];
      for (let row = 0; row < table.rows; row += 1) {
        const expected = placeFromText(axis, textOf(row));
        // The text of a 32-bit float has its digits only.
        const isFloat = type === 'FLOAT' && expected !== undefined;
        expect([name, row, placeOf(row)]).toEqual([name, row, isFloat ? Math.fround(Number(expected)) : expected]);
      }
    }
  },
);
