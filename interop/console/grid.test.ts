import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ServerProcess, startProcess } from '../../apps/server/test/server-process.ts';
import { encodeArrowStream } from '../../packages/frames/src/index.ts';
import { bytesOf, SAMPLE_FRAMES, type SampleFrame, streamOfSample } from '../../packages/frames/src/testing/index.ts';
import { useBrowser } from './open-console.ts';
import { keep } from './steps.ts';

// What the functions that run in the page use of it. The types of a whole page would be global in all tests.
interface PageElement {
  hidden: boolean;
  readonly style: { setProperty(name: string, value: string): void };
  querySelector(selector: string): PageElement | null;
}
declare const document: { querySelector(selector: string): PageElement | null };
declare function requestAnimationFrame(callback: (nowMs: number) => void): number;

let server: ServerProcess;
let end: () => Promise<void>;
beforeAll(async () => {
  server = await startProcess({ onEnd: (stop) => (end = stop) });
});
afterAll(() => end());
const open = useBrowser();

/** Opens the tab of a frame, and waits until its rows rest. */
async function openFrame(page: Page, handle: string): Promise<void> {
  await page
    .getByRole('region', { name: /^Frames/ })
    .getByText(handle, { exact: true })
    .click();
  await page.getByRole('grid', { name: `Rows of ${handle}` }).waitFor();
  await rested(page);
}

/** Waits until all visible cells are loaded and written for screen readers. */
async function rested(page: Page): Promise<void> {
  await page.waitForFunction(() => {
    const rest = document.querySelector('.grid-rest');
    return (
      rest !== null &&
      !rest.hidden &&
      rest.querySelector('[role=gridcell]') !== null &&
      document.querySelector('.grid-scroll[aria-busy], .grid-rest [aria-busy]') === null
    );
  });
}

/** The visible rows: number, then the texts of the cells. */
function rowsOf(page: Page): Promise<(string | null)[][]> {
  return page
    .locator('.grid-rest [role=row]')
    .evaluateAll((rows) => rows.slice(1).map((row) => [...row.children].map((cell) => cell.textContent)));
}

/** Moves the scroll bar to a share of its way. */
async function jump(page: Page, share: number): Promise<void> {
  await page.locator('.grid-scroll').evaluate((grid, to) => {
    grid.scrollTop = to * (grid.scrollHeight - grid.clientHeight);
    const rest = grid.querySelector<PageElement>('.grid-rest');
    if (rest !== null) rest.hidden = true;
  }, share);
  await rested(page);
}

describe('100 000 000 rows', () => {
  const VIEW = { viewport: { width: 1400, height: 900 } };

  test.each([24, 48])(
    'of %i px: every place is reached, and the wheel moves by its pixels',
    async (rowPx) => {
      if (rowPx === 24)
        await keep(server, 'huge', 'select range as id, (range * 7919) % 100003 as hash from range(100000000)');
      const { page } = await open(`${server.url}/`, VIEW);
      await openFrame(page, 'huge');
      await page
        .locator('.grid')
        .evaluate((grid: PageElement, px) => grid.style.setProperty('--grid-row-height', `${px}px`), rowPx);
      await page.setViewportSize({ width: 1400, height: 901 });
      const check = async (): Promise<void> => {
        await rested(page);
        const rows = await rowsOf(page);
        expect(rows).toEqual(
          rows.map(([number]) => [number, `${Number(number) - 1}`, `${((Number(number) - 1) * 7919) % 100_003}`]),
        );
      };
      await check();
      expect((await rowsOf(page))[0]?.[0]).toBe('1');
      await page.locator('.grid-scroll').focus();
      await page.keyboard.press('Control+End');
      await expect.poll(async () => (await rowsOf(page)).at(-1)?.[0]).toBe('100000000');
      await check();
      for (const share of [0.5, 0.123, 0.77]) {
        await jump(page, share);
        await check();
      }
      const before = Number((await rowsOf(page))[0]?.[0]);
      await page.mouse.move(600, 500);
      await page.mouse.wheel(0, rowPx * 10);
      await expect.poll(async () => Number((await rowsOf(page))[0]?.[0])).toBe(before + 10);
      await page.locator('.grid-scroll').focus();
      await page.keyboard.press('Control+g');
      await page.getByLabel('Go to row or column').fill('50%');
      await page.keyboard.press('Enter');
      await expect.poll(async () => (await rowsOf(page)).some(([number]) => number === '50000001')).toBe(true);
      await check();
    },
    90_000,
  );
});

describe('a full page', () => {
  const COLUMNS = Array.from({ length: 40 }, (_, i) => `(range * ${i + 1}) % 1000003 / ${(i % 3) + 1} as c${i}`).join(
    ', ',
  );
  test.each([
    [
      '1 000 000 rows × 8',
      'ticks',
      `select range as id, make_timestamp(1704067200000000 + range * 1000137) as ts, sin(range / 1000.0) as price, range % 1000 as qty, 'BTC' as symbol, range % 3 = 0 as flag, (range / 100.0)::decimal(18,2) as amount, 'note ' || range as note from range(1000000)`,
    ],
    ['200 000 rows × 40', 'wide', `select ${COLUMNS} from range(200000)`],
  ])(
    'of %s has the right rows wherever the wheel stops',
    async (_, handle, sql) => {
      await keep(server, handle, sql);
      const { page } = await open(`${server.url}/`, { viewport: { width: 1920, height: 1080 } });
      await openFrame(page, handle);
      await page.mouse.move(900, 600);
      for (const pixels of [240, 2400]) {
        const before = Number((await rowsOf(page))[0]?.[0]);
        for (let i = 0; i < 30; i += 1) await page.mouse.wheel(0, pixels);
        // A row has 24 px.
        const first = before + (30 * pixels) / 24;
        await expect.poll(async () => (await rowsOf(page))[0]?.[0]).toBe(String(first));
        await rested(page);
        const rows = await rowsOf(page);
        expect(rows.length).toBeGreaterThan(30);
        expect(rows.map(([number, value]) => [number, value])).toEqual(
          rows.map((_row, i) => [String(first + i), String(first + i - 1)]),
        );
      }
    },
    90_000,
  );

  test('keeps at most 50 MB after 1000 jumps', async () => {
    const { page } = await open(`${server.url}/`, { viewport: { width: 1920, height: 1080 } });
    await openFrame(page, 'wide');
    const session = await page.context().newCDPSession(page);
    await session.send('Performance.enable');
    await page.locator('.grid-scroll').evaluate(async (grid) => {
      for (let i = 0; i < 1000; i += 1) {
        grid.scrollTop = (((i * 37) % 1000) / 1000) * (grid.scrollHeight - grid.clientHeight);
        await new Promise(requestAnimationFrame);
      }
    });
    await rested(page);
    await session.send('HeapProfiler.collectGarbage');
    const { metrics } = await session.send('Performance.getMetrics');
    expect(metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value).toBeLessThan(50e6);
  });
});

/** What the grid shows of a cell: numbers that are not finite as such, symbols for controls, the start of long texts. */
function shownText(json: string, csv: string): string {
  const isNotFinite = json === 'null' && ['NaN', 'Infinity', '-Infinity'].includes(csv);
  const whole = isNotFinite ? csv : json.startsWith('"') ? String(JSON.parse(json)) : json;
  if (whole === '') return '␣';
  return whole
    .slice(0, 256)
    .replace(/[^\x20-\x7e\x80-\uffff]/g, (c) => (c === '\x7f' ? '␡' : String.fromCharCode(0x2400 + c.charCodeAt(0))));
}

describe('every type', () => {
  async function put(sample: SampleFrame, handle: string): Promise<boolean> {
    const body = await bytesOf(encodeArrowStream(streamOfSample(sample)));
    const headers = { 'content-type': 'application/vnd.apache.arrow.stream' };
    const response = await server.fetch(`/frames/${handle}`, { method: 'PUT', body, headers });
    // The store refuses some values of the samples: times that microseconds cannot hold, and dates with a time.
    expect([200, 201, 400]).toContain(response.status);
    return response.ok;
  }

  test('every cell of every sample reads as its JSON text', async () => {
    const samples: [handle: string, sample: SampleFrame][] = [];
    for (const [i, sample] of SAMPLE_FRAMES.entries()) {
      const handle = `sample-${i}`;
      if (sample.types.length > 0 && sample.rows.length > 0 && (await put(sample, handle)))
        samples.push([handle, sample]);
    }
    const { page } = await open(`${server.url}/`, { viewport: { width: 1600, height: 1200 } });
    let cells = 0;
    for (const [handle, sample] of samples) {
      await openFrame(page, handle);
      const seen = new Map<string, string | null>();
      for (let step = 0; seen.size < sample.types.length * sample.rows.length && step < 200; step += 1) {
        await rested(page);
        const visible = await page
          .locator('.grid-rest [role=gridcell]')
          .evaluateAll((found) => found.map((cell) => [cell.id.replace(/^grid-\d+-/, ''), cell.textContent] as const));
        for (const [place, text] of visible) seen.set(place, text);
        await page.locator('.grid-scroll').evaluate((grid) => {
          const before = grid.scrollLeft;
          grid.scrollLeft += 1000;
          if (grid.scrollLeft === before) grid.scrollTo(0, grid.scrollTop + 600);
          const rest = grid.querySelector<PageElement>('.grid-rest');
          if (rest !== null) rest.hidden = true;
        });
      }
      const expected = sample.rows.flatMap(({ json, csv }, row) =>
        json.map((text, column) => [`${row}-${column}`, shownText(text, csv[column] ?? '')]),
      );
      expect([sample.name, Object.fromEntries(seen)]).toEqual([sample.name, Object.fromEntries(expected)]);
      cells += expected.length;
    }
    expect(cells).toBeGreaterThan(4000);
  }, 120_000);
});
