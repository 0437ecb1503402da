import { address } from '../address.ts';
import { type Setting, setting } from '../setting.ts';
import { boolean, integer } from '../value-type.ts';

/** The section `metrics`. */
export const METRICS_SETTINGS = {
  enabled: setting({
    type: boolean(),
    default: true,
    description: 'Whether metrics are counted and GET /metrics answers.',
    example: true,
  }),
  bind_address: setting({
    type: address(),
    default: undefined,
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
    example: 100,
  }),
} as const satisfies Record<string, Setting>;
