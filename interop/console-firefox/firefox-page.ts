import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { array, looseObject, object, optional, parse, string } from 'valibot';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import type { Bidi } from './bidi.ts';
import { type Firefox, startFirefox } from './firefox.ts';

/** A page in Firefox. */
export interface FirefoxPage {
  /** The value of an expression, as JSON has it; a promise is awaited. */
  evaluate(expression: string): Promise<unknown>;
  /** Presses a key with others held down, such as `Control+End`. */
  press(keys: string): Promise<void>;
  type(text: string): Promise<void>;
  /** Clicks the first element of a selector when it is there. */
  click(selector: string): Promise<void>;
  /** Turns the wheel over the middle of an element. */
  wheel(selector: string, pixels: number): Promise<void>;
  setFile(selector: string, path: string): Promise<void>;
  /** The texts of the cells that the grid shows; undefined while it moves or loads. */
  cells(): Promise<string[] | undefined>;
  /** Resolves with the name of the next file that the page saves. */
  nextDownload(): Promise<string>;
}

const VIEWPORT = { width: 1280, height: 800 };

/** Keys without a character, as WebDriver numbers them. */
const KEYS: Readonly<Record<string, string>> = {
  Backspace: '\uE003',
  Enter: '\uE007',
  Shift: '\uE008',
  Control: '\uE009',
  Alt: '\uE00A',
  Escape: '\uE00C',
  End: '\uE010',
  Home: '\uE011',
  ArrowRight: '\uE014',
};

const EVENTS = ['log.entryAdded', 'network.beforeRequestSent', 'browsingContext.downloadWillBegin'];

/** Runs before the scripts of each page: violations of the policy are not events of BiDi. */
const WATCH_POLICY = `() => {
  globalThis.violations = [];
  document.addEventListener('securitypolicyviolation', (event) => violations.push(event.violatedDirective + ' ' + event.blockedURI));
}`;

const USER_CONTEXT = object({ userContext: string() });
const CONTEXT = looseObject({ context: string() });
const PICTURE = object({ data: string() });
const REQUEST = looseObject({ context: optional(string()), request: looseObject({ url: string() }) });
const LOG_ENTRY = looseObject({ text: string() });
const DOWNLOAD = looseObject({ suggestedFilename: string() });
const VALUE = looseObject({ result: looseObject({ value: optional(string()) }) });
const NODES = object({ nodes: array(looseObject({ sharedId: string() })) });

/** Where pictures are written, to look at. Default: nowhere. */
const PICTURES = process.env['SVC_CONSOLE_PICTURES'];

/** Starts Firefox before the tests of a file; returns a function that opens a page. Errors and foreign requests fail its test. */
export function useFirefox(): (url: string) => Promise<FirefoxPage> {
  let firefox: Firefox;
  beforeAll(async () => {
    firefox = await startFirefox();
    await firefox.bidi.send('session.subscribe', { events: EVENTS });
    await firefox.bidi.send('script.addPreloadScript', { functionDeclaration: WATCH_POLICY });
  });
  afterAll(async () => firefox?.close());
  return (url) => openPage(firefox, url);
}

async function openPage({ bidi }: Firefox, url: string): Promise<FirefoxPage> {
  // Storage of its own, as in a new profile.
  const { userContext } = parse(USER_CONTEXT, await bidi.send('browser.createUserContext', {}));
  const { context } = parse(CONTEXT, await bidi.send('browsingContext.create', { type: 'tab', userContext }));
  const problems: string[] = [];
  const stop = bidi.listen((method, params) => {
    if (method === 'log.entryAdded') problems.push(parse(LOG_ENTRY, params).text);
    if (method !== 'network.beforeRequestSent') return;
    const { request, ...sent } = parse(REQUEST, params);
    if (sent.context !== context || /^(data|blob):/.test(request.url)) return;
    if (new URL(request.url).origin !== new URL(url).origin) problems.push(request.url);
  });
  const page = pageOf(bidi, context);
  onTestFinished(async ({ task }) => {
    stop();
    if (PICTURES !== undefined) {
      const { data } = parse(PICTURE, await bidi.send('browsingContext.captureScreenshot', { context }));
      writeFileSync(join(PICTURES, `firefox-${task.name.replaceAll(/\W+/g, '-')}.png`), data, 'base64');
    }
    const violations = await page.evaluate('violations');
    await bidi.send('browser.removeUserContext', { userContext });
    expect([problems, violations]).toEqual([[], []]);
  });
  await bidi.send('browsingContext.setViewport', { context, viewport: VIEWPORT });
  await bidi.send('browsingContext.navigate', { context, url, wait: 'complete' });
  return page;
}

function pageOf(bidi: Bidi, context: string): FirefoxPage {
  async function evaluate(expression: string): Promise<unknown> {
    const answer = await bidi.send('script.evaluate', {
      expression: `(async () => JSON.stringify(await (${expression})))()`,
      target: { context },
      awaitPromise: true,
      userActivation: true,
    });
    // An exception has no result, which this says.
    const { value } = parse(VALUE, answer).result;
    return value === undefined ? undefined : JSON.parse(value);
  }
  async function elementOf(selector: string): Promise<unknown> {
    const locator = { type: 'css', value: selector };
    const find = async (): Promise<{ readonly sharedId: string } | undefined> => {
      const found = await bidi.send('browsingContext.locateNodes', { context, locator, maxNodeCount: 1 });
      return parse(NODES, found).nodes[0];
    };
    await expect.poll(find).toBeDefined();
    return { sharedId: (await find())?.sharedId };
  }
  const act = async (type: string, actions: readonly unknown[], rest = {}): Promise<void> => {
    await bidi.send('input.performActions', { context, actions: [{ type, id: type, actions, ...rest }] });
  };
  const originOf = async (selector: string): Promise<unknown> => ({
    type: 'element',
    element: await elementOf(selector),
  });
  return {
    evaluate,
    async press(keys) {
      const values = keys.split('+').map((key) => KEYS[key] ?? key);
      const down = values.map((value) => ({ type: 'keyDown', value }));
      const up = values.toReversed().map((value) => ({ type: 'keyUp', value }));
      await act('key', [...down, ...up]);
    },
    async type(text) {
      const keys = Array.from(text).flatMap((value) => [
        { type: 'keyDown', value },
        { type: 'keyUp', value },
      ]);
      await act('key', keys);
    },
    async click(selector) {
      const move = { type: 'pointerMove', x: 0, y: 0, origin: await originOf(selector) };
      await act('pointer', [move, { type: 'pointerDown', button: 0 }, { type: 'pointerUp', button: 0 }]);
    },
    async wheel(selector, deltaY) {
      await act('wheel', [{ type: 'scroll', x: 0, y: 0, deltaX: 0, deltaY, origin: await originOf(selector) }]);
    },
    async setFile(selector, path) {
      await bidi.send('input.setFiles', { context, element: await elementOf(selector), files: [path] });
    },
    async cells() {
      return parse(optional(array(string())), await evaluate(CELLS));
    },
    nextDownload() {
      return new Promise((resolve) => {
        const stop = bidi.listen((method, params) => {
          if (method !== 'browsingContext.downloadWillBegin') return;
          stop();
          resolve(parse(DOWNLOAD, params).suggestedFilename);
        });
      });
    },
  };
}

const CELLS = `document.querySelector('.grid-rest:not([hidden])') === null ||
  document.querySelector('.grid-scroll[aria-busy], .grid-rest [aria-busy]') !== null
    ? undefined
    : [...document.querySelectorAll('.grid-rest [role=gridcell]')].map(({ textContent }) => textContent)`;
