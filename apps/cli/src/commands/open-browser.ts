import { spawn } from 'node:child_process';

/** Opens a URL in the browser of the user; resolves to false if there is no program for that. */
export function openBrowser(url: string): Promise<boolean> {
  const [program, ...args] = openerOf(process.platform);
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
  return new Promise((resolve) => {
    child.once('error', () => resolve(false));
    // Some openers run as long as the browser.
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}

function openerOf(platform: NodeJS.Platform): readonly [program: string, ...args: string[]] {
  if (platform === 'darwin') return ['open'];
  return platform === 'win32' ? ['explorer'] : ['xdg-open'];
}
