import { type Setting, setting } from '../setting.ts';
import {
  address,
  baseUrl,
  boolean,
  choice,
  fraction,
  integer,
  matchingText,
  path,
  textList,
  type ValueType,
} from '../value-type.ts';

/** The section `metrics`. */
export const METRICS_SETTINGS = {
  enabled: setting({
    type: boolean(),
    default: true,
    description: 'Whether metrics are counted and GET /metrics answers.',
  }),
  bind_address: setting({
    type: address(),
    description:
      'Address and port of a listener for /metrics alone; without it, the HTTP listener answers /metrics, too.',
    example: { host: '127.0.0.1', port: 9003 },
  }),
  tenant_label: setting({
    type: boolean(),
    default: false,
    description: 'Whether the metrics of requests and queries have the label tenant.',
    example: true,
  }),
  max_tenants: setting({
    type: integer({ min: 1, max: 10_000 }, 'tenants'),
    default: 100,
    description: 'Maximum tenants with a label of their own; further ones share the label other.',
  }),
} as const satisfies Record<string, Setting>;

/** The settings of the access log, in the section `logging`. */
export const ACCESS_LOG_SETTINGS = {
  access: setting({
    type: choice(['off', 'errors', 'all']),
    default: 'off',
    description: 'Which requests leave a line in the log: none, those that fail, or all; at any logging.level.',
    example: 'all',
  }),
  access_sample: setting({
    type: fraction,
    default: 1,
    description:
      'The share of successful requests that logging.access = all logs, from 0 to 1; failed ones are always logged.',
    example: 0.01,
  }),
} as const satisfies Record<string, Setting>;

const URL_EXPECTED = 'an http:// or https:// URL such as http://collector.example.com:4318';

/** The base URL of a collector. */
function collectorUrl(): ValueType<string> {
  return baseUrl(URL_EXPECTED, {
    credentials: 'set traces.otlp_headers instead',
    ending: [/\/v1\/traces\/*$/, 'the base URL, without /v1/traces at its end (the server adds it)'],
  });
}

/** A list of `name=value`, as in the variables of OpenTelemetry: values may have percent escapes. */
function pairs(placeholder: string, example: string, pattern: RegExp): ValueType<readonly string[]> {
  return textList(placeholder, `a list of name=value such as ${example}`, (text) => {
    const [, name, value = ''] = /^([^=]*?)\s*=\s*(.*)$/s.exec(text) ?? [];
    const pair = `${name}=${decoded(value)}`;
    return name !== undefined && pattern.test(pair) ? pair : undefined;
  });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A percent sign without an escape stands for itself.
    return text;
  }
}

/** The name is a token of HTTP, and the value has visible characters and blanks. */
const HEADER = /^[\w!#$%&'*+.^`|~-]+=[\x20-\x7e]*$/;
const ATTRIBUTE = /^[^=\p{Cc}\p{Cs}]+=[^\p{Cc}\p{Cs}]*$/u;

/** The section `traces`. */
export const TRACE_SETTINGS = {
  otlp_url: setting({
    type: collectorUrl(),
    env: ['SERVICE_TRACES_OTLP_URL', 'OTEL_EXPORTER_OTLP_ENDPOINT'],
    description:
      'Base URL of an OpenTelemetry collector; spans are sent to /v1/traces below it, as OTLP over HTTP in JSON. Default: no spans.',
    example: 'http://collector.example.com:4318',
  }),
  sample: setting({
    type: fraction,
    default: 0.01,
    description:
      'Fraction of the requests whose spans are sent, from 0 to 1, if the client sends no traceparent; otherwise the client has decided.',
    example: 0.1,
  }),
  otlp_headers: setting({
    type: pairs('headers', 'authorization=Bearer%20abc', HEADER),
    env: ['SERVICE_TRACES_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_HEADERS'],
    description: 'Headers of the requests to the collector, such as credentials; comma-separated in a variable.',
    example: ['authorization=Bearer change-me'],
    secret: true,
  }),
  ca_file: setting({
    type: path('file'),
    env: ['SERVICE_TRACES_CA_FILE', 'OTEL_EXPORTER_OTLP_CERTIFICATE'],
    description:
      'PEM file of the certificate authorities that are trusted for the collector, instead of the well-known ones.',
    example: '/etc/service/collector-ca.pem',
  }),
  service_name: setting({
    type: matchingText('name', 'a name without control characters', /^[^\p{Cc}\p{Cs}]+$/u),
    env: ['SERVICE_TRACES_SERVICE_NAME', 'OTEL_SERVICE_NAME'],
    description: 'Name of this server in traces. Default: that of the resource attributes, else svc.',
    example: 'frames-eu',
  }),
  resource_attributes: setting({
    type: pairs('attributes', 'deployment.environment.name=production', ATTRIBUTE),
    env: ['SERVICE_TRACES_RESOURCE_ATTRIBUTES', 'OTEL_RESOURCE_ATTRIBUTES'],
    description: 'Further attributes of this server in traces; comma-separated in a variable.',
    example: ['deployment.environment.name=production'],
  }),
} as const satisfies Record<string, Setting>;
