// The roles of operators. Pure.

/** The rights of an operator, each including those before it: to view, to manage keys and money, to manage the gateway. */
export const ROLES = ['viewer', 'operator', 'owner'] as const
export type Role = (typeof ROLES)[number]
