// The console in a real Chromium against the real server: the CPU time of the page's main thread while a full page scrolls,
// while long answers are summarised and drawn and while long SQL is edited, the CPU time of the server for a jump in
// 100 000 000 rows (or the number in the first argument), its heap, and the times until progress is shown and until a
// cancelled statement is gone.
import { chromium } from 'playwright-core';
import { familyCpuMs } from '../tools/process-resources.js';
import { provideBrowser } from '../tools/provide-browser.js';
import { startServer } from '../tools/server-process.js';
import { writeResults } from './interleave.js';
import { openMetrics, tasksDuring } from './main-thread.js';
import { median } from './measure.js';

const LONG_ROWS = Number(process.argv[2] ?? 100_000_000);
const ROUNDS = 5;
const SCROLL_MS = 2000;
const WHEELS = { slow: 240, fast: 2400 };
const HEAP_JUMPS = 1000;
/** CPU times of processes are counted in ticks of 10 ms: one value is the mean of this many jumps. */
const JUMPS = 10;
const FULL_PAGE = { width: 1920, height: 1080 };
/** The longest answer shown whole. */
const ANSWER_ROWS = 190_000;
/** Runs for minutes. */
const ENDLESS = 'select count(*) from range(1000000) a, range(1000000) b where a.range * b.range % 7 = 3';

const many = (count, of) => Array.from({ length: count }, (_, i) => of(i)).join(', ');
const FRAMES = {
  ticks: `select range as id, make_timestamp(1704067200000000 + range * 1000137) as ts, sin(range / 1000.0) as price, range % 1000 as qty, 'BTC' as symbol, range % 3 = 0 as flag, (range / 100.0)::decimal(18,2) as amount, 'note ' || range as note from range(1000000)`,
  wide: `select ${many(40, (i) => `(range * ${i + 1}) % 1000003 / ${(i % 3) + 1} as c${i}`)} from range(200000)`,
  ids: 'select range as id from range(10000000)',
  long: `select range as id, (range * 7919) % 100003 as hash from range(${LONG_ROWS})`,
};
const ANSWER = `select ${many(5, (i) =>
  [
    `timestamp '2024-01-01' + to_microseconds((range * ${1_000_003 + i})::bigint) as t${i}`,
    `sin(range * ${i + 1}) as v${i}`,
    `(hash(range + ${i}) % 1000000007)::bigint as n${i}`,
    `('k' || (hash(range * ${i + 1}) % 100000)) as s${i}`,
  ].join(', '),
)}, range % 3 as few, (range / 7)::decimal(12, 4) as d from range(${ANSWER_ROWS})`;

const { SVC_CHROMIUM: executablePath, ...env } = provideBrowser();
const server = await startServer();
const browser = await chromium.launch({ executablePath, env, args: ['--no-sandbox', '--enable-precise-memory-info'] });
const values = {};
const record = (what, measured) => {
  const known = (values[what] ??= {});
  for (const [name, value] of Object.entries(measured)) (known[name] ??= []).push(value);
};

async function keep(handle) {
  const body = JSON.stringify({ sql: FRAMES[handle], engine: 'local', handle });
  const response = await fetch(`${server.url}/frames`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  if (response.status !== 201) throw new Error(`Keeping ${handle} was answered with ${response.status}.`);
}

/** Runs work on a fresh page. */
async function onPage(work) {
  const context = await browser.newContext({ viewport: FULL_PAGE });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(120_000);
    await page.goto(server.url);
    await page.getByRole('main').waitFor();
    return await work(page);
  } finally {
    await context.close();
  }
}

/** Waits until all cells in view are loaded and written. */
const rested = (page) =>
  page.waitForFunction(
    () =>
      document.querySelector('.grid-rest:not([hidden]) [role=gridcell]') !== null &&
      document.querySelector('.grid-scroll[aria-busy], .grid-rest [aria-busy]') === null,
  );

async function openFrame(page, handle) {
  const frames = page.getByRole('region', { name: /^Frames/ });
  await frames.getByText(handle, { exact: true }).click();
  await page.getByRole('grid', { name: `Rows of ${handle}` }).waitFor();
  await rested(page);
}

/** Turns the wheel for some seconds; returns the number of painted frames. */
async function turnWheel(page, pixels) {
  const run = { isOver: false };
  const frames = page
    .evaluate(
      (ms) =>
        new Promise((resolve) => {
          const endMs = performance.now() + ms;
          let count = 0;
          const next = (nowMs) => {
            count += 1;
            if (nowMs < endMs) requestAnimationFrame(next);
            else resolve(count);
          };
          requestAnimationFrame(next);
        }),
      SCROLL_MS,
    )
    .finally(() => (run.isOver = true));
  while (!run.isOver) await page.mouse.wheel(0, pixels);
  return frames;
}

/** One page for each measurement: tracing costs time of the main thread, too. */
async function scroll(handle, what) {
  for (const [speed, pixels] of Object.entries(WHEELS)) {
    const name = `${speed} wheel, ${what}`;
    await onPage(async (page) => {
      await openFrame(page, handle);
      await page.mouse.move(900, 600);
      const metrics = await openMetrics(page);
      await turnWheel(page, pixels);
      for (let i = 0; i < ROUNDS; i++) {
        const before = await metrics.cpuMs();
        const frames = await turnWheel(page, pixels);
        record(name, { 'CPU ms a frame': ((await metrics.cpuMs()) - before) / frames });
      }
    });
    await onPage(async (page) => {
      await openFrame(page, handle);
      await page.mouse.move(900, 600);
      await turnWheel(page, pixels);
      for (let i = 0; i < ROUNDS; i++) {
        const { longestTaskMs } = await tasksDuring(page, () => turnWheel(page, pixels));
        record(name, { 'longest task, CPU ms': longestTaskMs });
      }
    });
  }
}

async function jumpThousandTimes() {
  await onPage(async (page) => {
    await openFrame(page, 'wide');
    await page.locator('.grid-scroll').evaluate(async (grid, jumps) => {
      for (let i = 0; i < jumps; i++) {
        grid.scrollTop = (((i * 37) % jumps) / jumps) * (grid.scrollHeight - grid.clientHeight);
        await new Promise(requestAnimationFrame);
      }
    }, HEAP_JUMPS);
    await rested(page);
    const { heapBytes } = await openMetrics(page);
    record(`${HEAP_JUMPS} jumps, 200 000 rows × 40`, { 'heap, MB': (await heapBytes()) / 1e6 });
  });
}

/** Jumps to unread places; returns the CPU time of the server and its engine child per jump. */
async function jumpFar() {
  await onPage(async (page) => {
    await openFrame(page, 'long');
    for (let round = 0; round <= ROUNDS; round++) {
      const before = familyCpuMs(server.pid);
      for (let i = 0; i < JUMPS; i++) {
        await page.locator('.grid-scroll').evaluate((grid, share) => {
          grid.scrollTop = share * (grid.scrollHeight - grid.clientHeight);
          grid.querySelector('.grid-rest').hidden = true;
        }, Math.random());
        await rested(page);
      }
      const cpuMs = (familyCpuMs(server.pid) - before) / JUMPS;
      if (round > 0) record(`a jump in ${LONG_ROWS} rows`, { 'server CPU ms': cpuMs });
    }
  });
}

async function type(page, sql) {
  await page.keyboard.press('Alt+t');
  await page.keyboard.insertText(sql);
}

async function longAnswer() {
  await onPage(async (page) => {
    await type(page, ANSWER);
    await page.keyboard.press('Control+Enter');
    await page
      .locator('.facts')
      .getByText(/^190.000 rows/)
      .waitFor();
    const summary = await tasksDuring(page, async () => {
      await page.keyboard.press('Alt+3');
      await page.locator('.summary-pane tbody tr:nth-child(22) td:nth-child(7)').waitFor();
    });
    const chart = await tasksDuring(page, async () => {
      await page.keyboard.press('Alt+2');
      await page.getByText(/^Table of/).waitFor();
    });
    for (const [what, { cpuMs, longestTaskMs }] of Object.entries({ summary, chart })) {
      record(`${what} of an answer of 190 000 rows × 22`, { 'CPU ms': cpuMs, 'longest task, CPU ms': longestTaskMs });
    }
  });
}

/** Types eight keys at the start of almost a megabyte of SQL, the most in a tab. */
async function editLongSql() {
  await onPage(async (page) => {
    await page.evaluate(() => {
      const sql = `-- ${'x'.repeat(96)}\n`.repeat(9_900);
      const tab = { kind: 'query', id: 'long', title: 'q1', sql, engine: 'local', view: 'rows' };
      localStorage.setItem('svc:/::tabs', JSON.stringify({ tabs: [tab], currentId: 'long' }));
      sessionStorage.clear();
    });
    await page.reload();
    await page.locator('.cm-content').waitFor();
    await page.locator('.editor-host').click();
    await page.keyboard.press('Control+Home');
    const { longestTaskMs } = await tasksDuring(page, () => page.keyboard.type('select 1'));
    record('eight keys in SQL of 1 MB', { 'longest task, CPU ms': longestTaskMs });
  });
}

/** Makes a promise of the time from the key that runs a statement until its bar has a value. */
const WATCH_PROGRESS = `void (window.watched = new Promise((resolve) => {
  document.addEventListener('keydown', function start(event) {
    if (event.key !== 'Enter') return;
    document.removeEventListener('keydown', start, { capture: true });
    const startMs = performance.now();
    const look = () => {
      if (document.querySelector('.run-status progress[value]') === null) requestAnimationFrame(look);
      else resolve(performance.now() - startMs);
    };
    look();
  }, { capture: true });
}))`;

async function noQueries() {
  while ((await (await fetch(`${server.url}/queries`)).json()).queries.length > 0);
}

async function progressAndCancel() {
  await onPage(async (page) => {
    await type(page, 'select id % 1000 as k, max(md5(id::varchar)), max(sha1(id::varchar)) from ids group by k');
    for (let i = 0; i < ROUNDS; i++) {
      await page.evaluate(WATCH_PROGRESS);
      await page.keyboard.press('Control+Enter');
      record('Run until the progress has a value', { 'wall ms': await page.evaluate('window.watched') });
      await page.keyboard.press('Escape');
      await noQueries();
    }
  });
  await onPage(async (page) => {
    await type(page, ENDLESS);
    for (let i = 0; i < ROUNDS; i++) {
      await page.keyboard.press('Control+Enter');
      await page.getByRole('progressbar', { name: 'Progress of the statement' }).waitFor();
      const startMs = performance.now();
      await page.keyboard.press('Escape');
      await noQueries();
      record('Escape until the statement is gone from /queries', { 'wall ms': performance.now() - startMs });
    }
  });
}

try {
  for (const handle of Object.keys(FRAMES)) await keep(handle);
  await scroll('ticks', '1 M rows × 8');
  await scroll('wide', '200 000 rows × 40');
  await jumpThousandTimes();
  await jumpFar();
  for (let i = 0; i < ROUNDS; i++) await editLongSql();
  for (let i = 0; i < 3; i++) await longAnswer();
  await progressAndCancel();
} finally {
  await browser.close();
  await server.stop();
}
const summary = Object.entries(values).map(([what, measured]) => ({
  what,
  ...Object.fromEntries(Object.entries(measured).map(([name, own]) => [name, Number(median(own).toFixed(1))])),
}));
console.table(summary);
writeResults('console', { chromium: browser.version(), rounds: ROUNDS, summary, values });
