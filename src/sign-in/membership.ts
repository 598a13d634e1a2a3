// The rights of a person here, by the groups that an identity provider names. Pure. It must never give a person more rights than a
// configured group has.

import type { SignInEntry } from '../config/sign-in'
import { ROLES, type Role } from '../contract/roles'
import { isObject } from '../lib/objects'

/** Claims of a token whose signature has been verified. */
export type Claims = Readonly<Record<string, unknown>>

export interface Membership {
  /** The role of an operator; null if the person is not an operator. */
  role: Role | null
  /** The account of a holder; null if the person is not a holder. */
  holder: {
    /** The shared account; null if each person has their own. */
    account: string | null
    plan: string | null
  } | null
}

const DEFAULT_CLAIM = 'groups'
/** More groups than a directory puts into a token (Entra stops at 200). */
const MAX_GROUPS = 1_000

type Mapping = Pick<SignInEntry, 'groups' | 'groupsClaim'>

export function membershipOf(claims: Claims, { groups, groupsClaim = DEFAULT_CLAIM }: Mapping): Membership {
  const own = new Set(groupsIn(claims, groupsClaim))
  const entries = Object.entries(groups).filter(([group]) => own.has(group))
  const roles = entries.flatMap(([, { role }]) => role ?? [])
  const holding = entries.find(([, { plan, account }]) => plan !== undefined || account !== undefined)?.[1]
  return {
    role: ROLES.findLast((role) => roles.includes(role)) ?? null,
    holder: holding ? { account: holding.account ?? null, plan: holding.plan ?? null } : null,
  }
}

/** Whether the claims include the one that lists groups. */
export function hasGroups(claims: Claims, { groupsClaim = DEFAULT_CLAIM }: Mapping): boolean {
  return valueAt(claims, groupsClaim) !== undefined
}

function groupsIn(claims: Claims, claim: string): string[] {
  // An unverified address may be somebody else's.
  if (claim === 'email' && claims.email_verified !== true) return []
  const value = valueAt(claims, claim)
  const list = Array.isArray(value) ? value.slice(0, MAX_GROUPS) : [value]
  return list.filter((each): each is string => typeof each === 'string' && each !== '')
}

/** The value of a claim: by its whole name, which may contain dots, or by a path. */
function valueAt(claims: Claims, claim: string): unknown {
  if (Object.hasOwn(claims, claim)) return claims[claim]
  let value: unknown = claims
  for (const part of claim.split('.')) {
    if (!isObject(value) || !Object.hasOwn(value, part)) return undefined
    value = value[part]
  }
  return value
}

/** Maximum length of a name that is made from claims: a suffix that distinguishes equal names must fit too. */
const MAX_NAME_LENGTH = 48

/** A name for a person, made from the names that the provider gives. People can choose these, so it proves nothing. */
export function personNameOf({ preferred_username: username, email, sub }: Claims): string {
  for (const text of [username, email, sub]) {
    if (typeof text !== 'string') continue
    const name = text
      .normalize('NFKD')
      .replace(/[^A-Za-z0-9._@-]+/g, '-')
      .replace(/^[-.]+|[-.]+$/g, '')
      .slice(0, MAX_NAME_LENGTH)
    if (name !== '') return name
  }
  return 'person'
}
