// The part of the configuration that names identity providers (OpenID Connect): who may sign in, and as what. It must never
// admit anybody who is in no group of the table.

import { type Static, Type } from '@sinclair/typebox'
import { Check } from '@sinclair/typebox/value'
import { ROLES } from '../contract/roles'
import { closed, optionalSetting, requiredSetting } from '../lib/setting'
import { isLoopback } from '../lib/url-host'
import { fileFaults } from './upstreams'

export const GroupEntry = Type.Object(
  {
    role: optionalSetting(
      'Its members are operators with this role: `viewer`, `operator` or `owner`. For members of several groups the highest role applies.',
      Type.Union(ROLES.map((role) => Type.Literal(role))),
    ),
    plan: optionalSetting(
      'Each member has an account of their own, created with this plan at the first sign-in.',
      Type.String({ minLength: 1, maxLength: 64 }),
    ),
    account: optionalSetting(
      'Its members share this account instead. For members of several groups with a plan or an account, the first group applies.',
      Type.String({ pattern: '^(?!\\.\\.?$)[A-Za-z0-9._@-]{1,64}$' }),
    ),
  },
  closed,
)

export const TokensEntry = Type.Object(
  {
    adminApi: optionalSetting(
      "Whether the admin API accepts them, with the role of the token's groups. Default false.",
      Type.Boolean(),
    ),
    calls: optionalSetting(
      'Whether model requests accept them instead of a key: each person has a key of their own, with budgets and limits like any other. Default false.',
      Type.Boolean(),
    ),
    audience: optionalSetting(
      'The audience that a token must name (its `aud`). Default: `clientId`, and `cliClientId`.',
      Type.String({ minLength: 1, maxLength: 256 }),
    ),
    cliClientId: optionalSetting(
      'The id of a public client with the device flow, used by `gateway contexts login`.',
      Type.String({ minLength: 1, maxLength: 256 }),
    ),
  },
  closed,
)

export const SignInEntry = Type.Object(
  {
    issuer: requiredSetting(
      'The URL of the identity provider, exactly as in its tokens. `http` for this machine only.',
      Type.String({ pattern: '^https?://[^/?#@\\s]+(/[^?#\\s]*)?$', maxLength: 1_000 }),
    ),
    clientId: requiredSetting(
      'The id of this gateway at the identity provider.',
      Type.String({ minLength: 1, maxLength: 256 }),
    ),
    clientSecret: optionalSetting(
      'The secret of this gateway there. Default: none, for a public client.',
      Type.String({ minLength: 1, maxLength: 1_024 }),
    ),
    title: optionalSetting(
      'The text of the button after "Sign in with". Default: the name of the entry.',
      Type.String({ minLength: 1, maxLength: 40 }),
    ),
    scopes: optionalSetting(
      'The requested scopes. Default: `openid profile email`. Add `offline_access` if the provider issues refresh tokens only with it.',
      Type.String({ pattern: '^([!#-~]+ )*openid( [!#-~]+)*$', maxLength: 500 }),
    ),
    groupsClaim: optionalSetting(
      'The claim that lists the groups of the person. A dot leads into a claim: `realm_access.roles`. `email` counts only if it is verified. Default: `groups`.',
      Type.String({ minLength: 1, maxLength: 200 }),
    ),
    groups: requiredSetting(
      "The rights of each group's members, by the value of the claim. People in none of the groups are refused.",
      Type.Record(Type.String({ minLength: 1, maxLength: 256 }), GroupEntry, { minProperties: 1 }),
    ),
    tokens: optionalSetting(
      'Which tokens of the provider (JWT) are accepted instead of those of this gateway. Default: none.',
      TokensEntry,
    ),
    tls: optionalSetting(
      '`caFile`: a PEM file with the certificate authorities to trust for the provider, instead of the usual ones.',
      Type.Object({ caFile: Type.String({ minLength: 1 }) }, closed),
    ),
  },
  closed,
)
export type SignInEntry = Static<typeof SignInEntry>

const NAME = /^[a-z0-9][a-z0-9-]{0,31}$/

/** Faults that the schema cannot express; empty if the entry does not fit the schema. */
export function signInFaults(section: unknown, plans: unknown): string[] {
  if (typeof section !== 'object' || section === null) return []
  return Object.entries(section).flatMap(([name, entry]) => {
    const place = `signIn.${name}`
    const own = NAME.test(name) ? [] : [`${place}: a name has small letters, digits and hyphens, at most 32`]
    return Check(SignInEntry, entry) ? [...own, ...entryFaults(place, entry, plans)] : own
  })
}

function entryFaults(place: string, { issuer, groups, tls }: SignInEntry, plans: unknown): string[] {
  const url = URL.parse(issuer)
  const isSafe = url?.protocol === 'https:' || (url !== null && isLoopback(url.hostname))
  const faults = isSafe
    ? []
    : [`${place}.issuer: expected an https address; http would let others on the way sign in`]
  faults.push(...fileFaults(`${place}.tls.caFile`, tls?.caFile))
  for (const [group, { role, plan, account }] of Object.entries(groups)) {
    const at = `${place}.groups.${group}`
    if (role === undefined && plan === undefined && account === undefined)
      faults.push(`${at}: expected a role, a plan or an account`)
    if (plan !== undefined && !Object.hasOwn((plans ?? {}) as object, plan))
      faults.push(`${at}.plan: there is no plan "${plan}"`)
  }
  return faults
}
