import type { EndpointTable } from '@svc/exec-http';

/** Returns the text of the page at `/`: one line for each use of each path. */
export function indexPage(table: EndpointTable): string {
  const lines = Object.entries(table).flatMap(([path, { methods }]) =>
    Object.entries(methods).flatMap(([method, { uses }]) =>
      uses.map(({ request = path, gives }) => ({ request: `${method.padEnd(6)} ${request}`, gives })),
    ),
  );
  const width = Math.max(...lines.map(({ request }) => request.length));
  const list = lines.map(({ request, gives }) => `${request.padEnd(width)}  ${gives.replaceAll('`', '')}`);
  return `A data-frame server.\n\n${list.join('\n')}\n`;
}
