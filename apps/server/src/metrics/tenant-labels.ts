/** The label of all tenants after the first ones. */
const OTHER_TENANTS = 'other';

/**
 * Returns the label of a tenant: its name for the first `maxTenants` that are seen, else `other`. A tenant that is called
 * `other` shares that label.
 */
export function createTenantLabels(maxTenants: number): (tenant: string) => string {
  const known = new Set<string>();
  return (tenant) => {
    if (known.has(tenant)) return tenant;
    if (known.size >= maxTenants) return OTHER_TENANTS;
    known.add(tenant);
    return tenant;
  };
}
