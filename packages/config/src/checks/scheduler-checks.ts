import { isLoopback } from '../loopback.ts';
import type { Resolved } from '../resolve-settings.ts';
import { parseSchedulerUrl, type SchedulerUrl } from '../scheduler-url.ts';
import { type Finding, isGiven } from '../source.ts';

/** Refuses settings of a cluster that contradict each other, or that would open it to the network. */
export function schedulerProblems(resolved: Resolved): readonly Finding[] {
  const { draft, sources } = resolved;
  const { url } = draft.scheduler;
  if (url === undefined) return [];
  const parsed = parseSchedulerUrl(url);
  return [...tokenProblems(resolved, parsed), ...fileProblems(resolved, parsed), ...openProblems(resolved)].map(
    (finding) => ({ source: sources.scheduler.url, ...finding }),
  );
}

type Problem = Omit<Finding, 'source'> & Partial<Pick<Finding, 'source'>>;

function tokenProblems({ sources: { scheduler } }: Resolved, url: SchedulerUrl): readonly Problem[] {
  const hasToken = isGiven(scheduler.token);
  if (hasToken && url.token !== undefined) {
    return [
      {
        source: scheduler.token,
        setting: 'scheduler.token',
        message: 'scheduler.token is set, and scheduler.url has a token too.',
        hint: 'Remove the token from the URL.',
      },
    ];
  }
  if ((!hasToken && url.token === undefined) || url.hasTls || isLoopback(url.host)) return [];
  return [
    {
      setting: 'scheduler.url',
      message: 'scheduler.url is not encrypted, and a token would be sent in the clear.',
      hint:
        url.protocol === 'spark-connect'
          ? 'Add /;use_ssl=true to the URL.'
          : 'Write grpc+tls:// instead of grpc:// in the URL.',
    },
  ];
}

function fileProblems({ draft, sources: { scheduler } }: Resolved, url: SchedulerUrl): readonly Problem[] {
  const isSpark = url.protocol === 'spark-connect';
  if (isSpark && isGiven(scheduler.read_file)) {
    return [
      {
        source: scheduler.read_file,
        setting: 'scheduler.read_file',
        message: 'scheduler.read_file is set, but scheduler.url is sc://, which needs none.',
        hint: 'Remove it.',
      },
    ];
  }
  const readsFiles = isSpark || isGiven(scheduler.read_file);
  if (!readsFiles || draft.storage.parquet_path !== undefined) return [];
  return [
    {
      setting: 'storage.parquet_path',
      message: 'scheduler.url is set, but the frames are in a temporary directory, which no cluster can read.',
      hint: 'Set storage.data_dir (--data-dir) to a directory that the cluster reads too.',
    },
  ];
}

/** User SQL acts with the rights of the cluster: without credentials, only this machine may send it. */
function openProblems({ draft: { auth, server } }: Resolved): readonly Problem[] {
  if (auth.mode === 'required') return [];
  const open = [
    { name: 'server.http_bind_address', host: server.http_bind_address?.host },
    { name: 'server.grpc_host', host: server.grpc_host },
  ].find(({ host }) => host !== undefined && !isLoopback(host));
  if (open === undefined) return [];
  return [
    {
      setting: 'scheduler.url',
      message: `scheduler.url is set, but callers need no credentials, and ${open.name} is ${open.host}.`,
      hint: 'Set auth.callers_file, or bind both listeners to 127.0.0.1.',
    },
  ];
}

/** Warns of settings that have no effect. */
export function schedulerWarnings({ draft, sources: { scheduler } }: Resolved): readonly Finding[] {
  const { url } = draft.scheduler;
  const hasTls = url !== undefined && parseSchedulerUrl(url).hasTls;
  const names = (['token', 'ca_file', 'frames_url', 'read_file'] as const).filter(
    (name) => isGiven(scheduler[name]) && (url === undefined || (name === 'ca_file' && !hasTls)),
  );
  return names.map((name) => ({
    source: scheduler[name],
    setting: `scheduler.${name}`,
    message: `scheduler.${name} has no effect ${url === undefined ? 'without scheduler.url' : 'because scheduler.url is not encrypted'}.`,
    hint:
      url === undefined
        ? 'Set scheduler.url to the address of the cluster.'
        : 'Remove it, or use TLS in scheduler.url.',
  }));
}
