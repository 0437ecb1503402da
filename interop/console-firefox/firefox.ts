import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { connectBidi, type Bidi } from './bidi.ts';

/** The page may read the clipboard without a question to the user, and files are saved in the profile. */
function preferencesOf(profile: string): string {
  const preferences = {
    'dom.events.testing.asyncClipboard': true,
    'browser.download.folderList': 2,
    'browser.download.dir': profile,
  };
  return Object.entries(preferences)
    .map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`)
    .join('');
}

/** A running Firefox. */
export interface Firefox {
  readonly bidi: Bidi;
  close(): Promise<void>;
}

/**
 * Starts Firefox and talks WebDriver BiDi with it. Not by playwright-core: it needs a command that Firefox ESR does not have
 * (`emulation.setMediaFeaturesOverride`).
 */
export async function startFirefox(): Promise<Firefox> {
  const profile = mkdtempSync(join(tmpdir(), 'svc-firefox-'));
  writeFileSync(join(profile, 'user.js'), preferencesOf(profile));
  const args = ['--headless', '--no-remote', '--remote-debugging-port=0', '--profile', profile];
  const child = spawn(process.env['SVC_FIREFOX'] ?? 'firefox', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const exited = once(child, 'exit');
  const url = await new Promise<string>((resolve, reject) => {
    const lines: string[] = [];
    createInterface({ input: child.stderr }).on('line', (line) => {
      lines.push(line);
      const found = /WebDriver BiDi listening on (ws:\S+)/.exec(line);
      if (found?.[1] !== undefined) resolve(found[1]);
    });
    child.on('error', reject);
    void exited.then(() => reject(new Error(`Firefox ended:\n${lines.join('\n')}`)));
  });
  const bidi = await connectBidi(`${url}/session`);
  await bidi.send('session.new', { capabilities: {} });
  return {
    bidi,
    async close() {
      await bidi.send('browser.close', {});
      await exited;
      rmSync(profile, { recursive: true, force: true });
    },
  };
}
