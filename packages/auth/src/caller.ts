const TENANT_PATTERN = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** The rule for names of tenants, for error messages. */
export const TENANT_RULE =
  'A tenant has 1 to 63 lower-case letters, digits and dashes, and does not begin with a dash.';

/** Whether a text is a valid name of a tenant. */
export function isTenant(text: string): boolean {
  return TENANT_PATTERN.test(text);
}
