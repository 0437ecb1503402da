import { encodeArrowStream } from '@svc/frames';
import { bytesOf, SAMPLE_FRAMES, type SampleFrame, streamOfSample } from '@svc/frames/testing';
import { describe, expect, test } from 'vitest';
import { blockFromArrow, type CellBlock, cellOfJson } from './cell-block.ts';
import { visibleText } from './row-source.ts';

const NOT_FINITE: ReadonlySet<string> = new Set(['NaN', 'Infinity', '-Infinity']);

async function blockOf(sample: SampleFrame): Promise<CellBlock> {
  return blockFromArrow(await bytesOf(encodeArrowStream(streamOfSample(sample))));
}

/** The whole text of a cell, from its texts in JSON and CSV: JSON has null for numbers that are not finite. */
function wholeText(json: string, csv: string): string {
  if (NOT_FINITE.has(csv) && json === 'null') return csv;
  return json.startsWith('"') ? String(JSON.parse(json)) : json;
}

describe.each(SAMPLE_FRAMES.map((sample) => [sample.name, sample] as const))('%s', (_, sample) => {
  test('the text of every cell is exact', async () => {
    const block = await blockOf(sample);
    expect(block.rows).toBe(sample.rows.length);
    const expected = sample.rows.map(({ json, csv }) => json.map((text, c) => wholeText(text, csv[c] ?? '')));
    expect(sample.rows.map(({ json }, row) => json.map((_text, column) => block.text(row, column) ?? 'null'))).toEqual(
      expected,
    );
  });

  test('every cell shows its text, cut and with symbols', async () => {
    const block = await blockOf(sample);
    for (const [row, { json, csv }] of sample.rows.entries()) {
      for (const [column, text] of json.entries()) {
        const cell = block.cell(row, column);
        const whole = wholeText(text, csv[column] ?? '');
        if (text === 'null' && whole === 'null') expect(cell).toEqual({ text: 'null', look: 'null' });
        else if (whole === '') expect(cell).toEqual({ text: '␣', look: 'empty' });
        else if (whole.length > 256) expect([cell.look, cell.text]).toEqual(['cut', visibleText(whole.slice(0, 256))]);
        else expect(cell).toEqual({ text: visibleText(whole), look: text === 'null' ? 'nan' : 'value' });
      }
    }
  });
});

test.each([
  ['a\nb\u0000\u007f', 'a␊b␀␡'],
  ['\u202eevil', '‹U+202E›evil'],
  ['é😀 tab\t', 'é😀 tab␉'],
])('the visible text of %j is %j', (text, expected) => {
  expect(visibleText(text)).toBe(expected);
});

test('a cut text has the bytes of the whole, and no half of a pair of surrogates', () => {
  const text = `${'x'.repeat(255)}😀 and more`;
  expect(cellOfJson(JSON.stringify(text))).toEqual({ text: 'x'.repeat(255), look: 'cut', bytes: 255 + 4 + 9 });
});
