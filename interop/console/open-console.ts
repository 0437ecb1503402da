import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** A page that is open, and what went wrong in it. */
export interface OpenConsole {
  readonly page: Page;
  /** Errors of the page, violations of its policy, requests to other origins. Checked when the test ends. */
  readonly problems: string[];
}

/** Starts a browser before the tests of a file; returns a function that opens the console at an address. */
export function useBrowser(): (url: string, options?: BrowserContextOptions) => Promise<OpenConsole> {
  let browser: Browser;
  beforeAll(async () => {
    const executablePath = process.env['SVC_CHROMIUM'] ?? 'chromium';
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--enable-precise-memory-info'] });
  });
  afterAll(async () => browser?.close());
  return async (url, options = {}) => {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    const problems: string[] = [];
    page.on('console', (message) => problems.push(message.text()));
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('request', (request) => {
      const target = new URL(request.url());
      if (!/^(data|blob):/.test(target.protocol) && target.origin !== new URL(url).origin) problems.push(target.href);
    });
    onTestFinished(async () => {
      await context.close();
      // Chromium reports failed requests, which are responses that a test asked for.
      expect(problems.filter((text) => !text.startsWith('Failed to load resource'))).toEqual([]);
    });
    page.setDefaultTimeout(10_000);
    await page.goto(url);
    return { page, problems };
  };
}

/** What axe finds in a page, opened with `bypassCSP`. */
export async function violationsIn(page: Page): Promise<string[]> {
  await page.addScriptTag({ path: AXE });
  const { violations }: { violations: { id: string; nodes: { html: string }[] }[] } = await page.evaluate('axe.run()');
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}
