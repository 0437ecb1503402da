// Runs the page /docs, and @svc/client, in a real Chromium.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { provideBrowser } from '../../tools/provide-browser.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const args = ['run', '--config', 'interop/browser/vitest.config.js', ...process.argv.slice(2)];
const { status } = spawnSync('node_modules/.bin/vitest', args, { cwd: root, stdio: 'inherit', env: provideBrowser() });
process.exit(status ?? 1);
