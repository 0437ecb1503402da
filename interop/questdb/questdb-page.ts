import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import { testFile } from '../../apps/server/test/server-process.ts';

/** Finds a part of QuestDB's web console by the name that it has for tests. */
export const hook = (page: Page, name: string): Locator => page.locator(`[data-hook=${name}]`);

/** How to run a statement. */
export interface RunOptions {
  /** What the editor shows when the statement is typed. */
  readonly shown: string;
  /** A part of the URL of the request. */
  readonly sent: string;
  readonly timeoutMs: number;
}

/** Types a statement into the editor and runs it; returns the cells of its rows. */
export async function runStatement(page: Page, sql: string, { shown, sent, timeoutMs }: RunOptions): Promise<string[]> {
  const editor = page.locator('.monaco-editor .view-lines').first();
  await editor.click();
  await page.keyboard.insertText(sql);
  await expect.poll(() => editor.innerText(), { timeout: timeoutMs }).toContain(shown);
  const answered = page.waitForResponse((response) => response.url().includes(sent));
  await hook(page, 'button-run-query').click();
  expect((await answered).status()).toBe(200);
  const cells = page.locator('.qg-c:not(:empty)');
  await cells.first().waitFor();
  return cells.allInnerTexts();
}

/** Imports a file with the page; returns the status of its request, and what the page says of it. */
export async function importFile(page: Page, name: string): Promise<readonly [status: number, shown: string]> {
  await hook(page, 'import-panel-button').click();
  const chooser = page.waitForEvent('filechooser');
  await hook(page, 'import-browse-from-disk').click();
  await (await chooser).setFiles(testFile(name, 'id,name\n1,a\n2,b\n'));
  const state = hook(page, 'import-file-status');
  await state.filter({ hasText: 'Ready to upload' }).waitFor();
  const answered = page.waitForResponse((response) => new URL(response.url()).pathname === '/imp');
  await hook(page, 'import-upload-button').click();
  const status = (await answered).status();
  await state.filter({ hasText: /Imported|Upload error|Failed/i }).waitFor();
  return [status, await state.innerText()];
}
