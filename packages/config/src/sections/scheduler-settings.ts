import * as v from 'valibot';
import { type Setting, setting } from '../setting.ts';
import { schedulerUrl } from '../scheduler-url.ts';
import { integer, matchingText, path, plainText, timerMs, type ValueType } from '../value-type.ts';

const FRAMES_EXPECTED = 'a URL such as file:///srv/frames or s3://bucket/frames, without a query (%20 for a blank)';

/** A scheme, a host unless it is a file, and a path whose escapes are complete. */
const FRAMES_URL =
  /^(?:file:\/\/(?=\/)|(?!file:)[a-z][a-z\d+.-]*:\/\/[^/@?#%\s]+(?=\/|$))(?:%[\da-f]{2}|[^?#%\s\p{Cc}\p{Cs}])*$/iu;

/** Where a cluster finds the directory of the frames. A slash at its end is removed. */
function framesUrl(): ValueType<string> {
  const schema = v.pipe(
    v.string(FRAMES_EXPECTED),
    v.trim(),
    v.regex(FRAMES_URL, FRAMES_EXPECTED),
    v.transform((text) => text.replace(/\/+$/, '')),
  );
  return plainText('url', FRAMES_EXPECTED, schema);
}

/** One `{uri}` inside of quotes, after any number of complete quotes. */
const READ_FILE =
  /^(?!.*\{uri\}.*\{uri\})(?=[^\p{Cc}\p{Cs}]+$)(?:[^'"`]|'[^']*'|"[^"]*"|`[^`]*`)*(['"`])(?:(?!\1).)*\{uri\}(?:(?!\1).)*\1/u;

/** The section `scheduler`. */
export const SCHEDULER_SETTINGS = {
  url: setting({
    type: schedulerUrl(),
    default: undefined,
    description:
      'Cluster that runs SQL with engine=scheduler over the frames: sc:// (Spark Connect), grpc:// or grpc+tls:// (Flight SQL).',
    example: 'sc://spark.example.com:15002',
  }),
  token: setting({
    type: matchingText('token', 'a token of visible ASCII characters without blanks', /^[\x21-\x7e]+$/),
    default: undefined,
    description: 'Bearer token for the cluster.',
    example: 'change-me',
    secret: true,
  }),
  ca_file: setting({
    type: path('file'),
    default: undefined,
    description:
      'PEM file of the certificate authorities that are trusted for the cluster, instead of the well-known ones.',
    example: '/etc/service/cluster-ca.pem',
  }),
  frames_url: setting({
    type: framesUrl(),
    default: undefined,
    description:
      'How the cluster names the directory of storage.parquet_path. Default: as this server does, with file:// before it.',
    example: 'file:///mnt/frames',
  }),
  read_file: setting({
    type: matchingText('sql', "SQL with {uri} in quotes, once, such as read_parquet('{uri}')", READ_FILE),
    default: undefined,
    description:
      'How an engine behind Flight SQL reads a file, with {uri} for its address. Default: it reads none, and the tables are its own.',
    example: "read_parquet('{uri}')",
  }),
  timeout_ms: setting({
    type: timerMs,
    default: 600_000,
    description:
      'How long SQL on the cluster may take until its first rows, including time in the queue, and then until further rows.',
    example: 600_000,
  }),
  max_concurrent: setting({
    type: integer({ min: 1, max: 1000 }),
    default: 8,
    description:
      'Maximum concurrent statements on the cluster. If there are callers, a tenant may have three quarters of them.',
    example: 8,
  }),
  max_queued: setting({
    type: integer({ min: 0, max: 100_000 }),
    default: 64,
    description: 'Maximum queued statements for the cluster; further ones are refused.',
    example: 64,
  }),
} as const satisfies Record<string, Setting>;
