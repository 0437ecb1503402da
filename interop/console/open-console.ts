import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';

declare const document: { querySelector(selector: string): unknown };

const ARGS = [
  '--no-sandbox',
  '--enable-precise-memory-info',
  // A name that its owner points at this machine.
  '--host-resolver-rules=MAP rebound.example 127.0.0.1',
];

/** A statement that is refused. */
export const REFUSED = /^\/(exec|exp): Failed to load resource: .* 400 \(Bad Request\)$/;
/** A request without a token. */
export const WITHOUT_TOKEN = /: Failed to load resource: .* 401 \(Unauthorized\)$/;
/** A request to a server that is gone. */
export const GONE =
  /: Failed to load resource: net::ERR_(CONNECTION_\w+|SOCKET_NOT_CONNECTED|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING)$/;

/** An answer that a proxy ended before its end. */
export const CUT_OFF = /: Failed to load resource: net::ERR_INCOMPLETE_CHUNKED_ENCODING$/;

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** A page that is open, and what went wrong in it. */
export interface OpenConsole {
  readonly page: Page;
  /** Errors of the page, violations of its policy, requests to other origins. Checked when the test ends. */
  readonly problems: string[];
}

/** How a page is opened. */
export interface OpenOptions extends BrowserContextOptions {
  /** Responses that the test asks for, which Chromium itself reports as errors. */
  readonly expected?: readonly RegExp[];
}

/** Starts a browser before the tests of a file; returns a function that opens the console at an address. */
export function useBrowser(): (url: string, options?: OpenOptions) => Promise<OpenConsole> {
  let browser: Browser;
  beforeAll(async () => {
    const executablePath = process.env['SVC_CHROMIUM'] ?? 'chromium';
    browser = await chromium.launch({ executablePath, args: ARGS });
  });
  afterAll(async () => browser?.close());
  return async (url, { expected = [], ...options } = {}) => {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    const problems: string[] = [];
    page.on('console', (message) => {
      const { pathname } = new URL(message.location().url || url);
      problems.push(`${pathname}: ${message.text()}`);
    });
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('request', (request) => {
      const target = new URL(request.url());
      if (!/^(data|blob):/.test(target.protocol) && target.origin !== new URL(url).origin) problems.push(target.href);
    });
    onTestFinished(async () => {
      await context.close();
      expect(problems.filter((text) => !expected.some((pattern) => pattern.test(text)))).toEqual([]);
    });
    page.setDefaultTimeout(30_000);
    await page.goto(url);
    return { page, problems };
  };
}

/** Opens a frame from the list. */
export async function openFrame(page: Page, handle: string): Promise<void> {
  await page
    .getByRole('region', { name: /^Frames/ })
    .getByRole('button', { name: new RegExp(`^${handle} `) })
    .click();
  await page.getByRole('gridcell').first().waitFor();
  await page.locator('[role=gridcell][aria-busy]').first().waitFor({ state: 'detached' });
}

/** Opens a tab and types at once, as a user who knows the key does. */
export async function runByKeyboard(page: Page, sql: string): Promise<void> {
  await page.keyboard.press('Alt+t');
  await page.keyboard.type(sql);
  await page.keyboard.press('Control+Enter');
}

/** Drops a file, given as an expression, when the page shows that it takes files: the code for it is loaded after the rest. */
export async function dropFile(page: Page, file: string): Promise<void> {
  const send = (type: string): Promise<void> =>
    page.evaluate(`(() => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(${file});
      document.body.dispatchEvent(new DragEvent('${type}', { dataTransfer, bubbles: true, cancelable: true }));
    })()`);
  await expect
    .poll(async () => {
      await send('dragover');
      return page.locator('.drop-area').count();
    })
    .toBe(1);
  await send('drop');
}

/** What a grid has until it has written all of its cells. */
const IN_MOTION = '.grid-rest[hidden], .grid-scroll[aria-busy], .grid-rest [aria-busy]';

/** The texts of the cells that the grid shows, when it has come to rest. */
export async function cellsOf(page: Page): Promise<string[]> {
  // Not a text: the page's policy blocks its evaluation from the second look on.
  await page.waitForFunction((selector) => document.querySelector(selector) === null, IN_MOTION);
  return page.getByRole('gridcell').allInnerTexts();
}

/** Where pictures of the states are written, to look at. Default: nowhere. */
const PICTURES = process.env['SVC_CONSOLE_PICTURES'];

/** Takes a picture of a page, if there is a folder for it. */
export async function takePicture(page: Page, name: string): Promise<void> {
  if (PICTURES !== undefined) await page.screenshot({ path: join(PICTURES, `${name}.png`) });
}

/** Resolves when the page is painted and nothing in it moves to another place. */
const SETTLED = `new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))).then(() =>
  Promise.all(document.getAnimations()
    .filter((animation) => animation.effect?.getTiming().iterations !== Infinity)
    .map(({ finished }) => finished)))`;

const NARROW = { width: 390, height: 800 };

/** Checks a state of the page, opened with `bypassCSP`, in light and dark colours and in a narrow window. */
export async function expectAccessible(page: Page, name: string): Promise<void> {
  const size = page.viewportSize() ?? NARROW;
  for (const [look, colorScheme, viewport] of [
    ['light', 'light', size],
    ['dark', 'dark', size],
    ['narrow', 'light', NARROW],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(viewport);
    await page.evaluate(SETTLED);
    await takePicture(page, `${name}-${look}`);
    expect([look, await violationsIn(page)]).toEqual([look, []]);
  }
  await page.emulateMedia({ colorScheme: null });
  await page.setViewportSize(size);
}

/** What axe finds in a page, opened with `bypassCSP`. */
export async function violationsIn(page: Page): Promise<string[]> {
  if (!(await page.evaluate("'axe' in globalThis"))) await page.addScriptTag({ path: AXE });
  const { violations }: { violations: { id: string; nodes: { html: string }[] }[] } = await page.evaluate('axe.run()');
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}
