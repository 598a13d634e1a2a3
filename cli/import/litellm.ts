// Reads LiteLLM's proxy: keys, teams and users from its PostgreSQL, models from its config.yaml. It stores keys as SHA-256 of the
// whole secret, as this gateway does. It has no balances: the rest of a budget becomes a balance. Tables are those of schema.prisma
// of LiteLLM 1.110.2.

import { hashSecret, unlimited } from '../../src/accounts/keys'
import { asObject } from '../../src/lib/objects'
import {
  displayNameOf,
  type Found,
  type FoundAccount,
  idsOfModels,
  Names,
  noteOf,
  nothingFound,
} from './found'
import { type Budgets, balanceOf, keyBudgetOf, leastLimits } from './litellm-budgets'
import type { Entry } from './litellm-costs'
import { type LitellmModels, readLitellmModels } from './litellm-models'
import { isIn, jsonIn, listIn, type SourceDatabase, type SourceRow, textIn, timeIn } from './source'

const HASH = /^[0-9a-f]{64}$/
/** The team of keys that the dashboard makes for its own sessions. */
const DASHBOARD = 'litellm-dashboard'
/** Columns of keys with rules that keys here do not have. */
const NOT_CARRIED = [
  'model_max_budget',
  'budget_limits',
  'budget_fallbacks',
  'allowed_routes',
  'aliases',
  'permissions',
  'router_settings',
  'access_group_ids',
  'policies',
  'tpd_limit',
  'object_permission_id',
]

interface Given {
  configText: string | undefined
  /** The entries of a price file. */
  prices: ReadonlyMap<string, Entry> | undefined
}

export async function readLitellm(database: SourceDatabase | undefined, given: Given): Promise<Found> {
  const found = nothingFound()
  const tables = database ? await readTables(database) : undefined
  const stored = Object.fromEntries(
    (tables?.config ?? []).map((row) => [textIn(row, 'param_name'), asObject(jsonIn(row, 'param_value'))]),
  )
  const { configText, prices } = given
  const models =
    configText === undefined
      ? undefined
      : readLitellmModels(configText, { stored, prices, found, environment: process.env })
  if (!tables) return found
  const owners = new Owners(tables, found)
  const names = new Names()
  for (const row of tables.tokens) readToken(row, { owners, names, models, found, budgets: tables.budgets })
  listShared(tables, owners, found)
  return found
}

type Tables = Awaited<ReturnType<typeof readTables>>

async function readTables(database: SourceDatabase) {
  const byId = (rows: readonly SourceRow[], id: string) => new Map(rows.map((row) => [textIn(row, id), row]))
  const tokens = await database.rows('LiteLLM_VerificationToken', 'token', 'needed')
  const teams = byId(await database.rows('LiteLLM_TeamTable', 'team_id'), 'team_id')
  const users = byId(await database.rows('LiteLLM_UserTable', 'user_id'), 'user_id')
  const tiers = byId(await database.rows('LiteLLM_BudgetTable', 'budget_id'), 'budget_id')
  const members = await database.rows('LiteLLM_TeamMembership', 'user_id')
  const budgets: Budgets = {
    tierOf: (row) => tiers.get(row ? textIn(row, 'budget_id') : ''),
    memberOf: (key) =>
      members.find((row) => ['user_id', 'team_id'].every((id) => textIn(row, id) === textIn(key, id))),
    keysOfMember: (key) =>
      tokens.filter((row) => ['user_id', 'team_id'].every((id) => textIn(row, id) === textIn(key, id)))
        .length,
  }
  return {
    tokens,
    teams,
    users,
    budgets,
    projects: byId(await database.rows('LiteLLM_ProjectTable', 'project_id'), 'project_id'),
    organizations: await database.rows('LiteLLM_OrganizationTable', 'organization_id'),
    endUsers: await database.rows('LiteLLM_EndUserTable', 'user_id'),
    tags: await database.rows('LiteLLM_TagTable', 'tag_name'),
    models: await database.rows('LiteLLM_ProxyModelTable', 'model_name'),
    config: await database.rows('LiteLLM_Config', 'param_name'),
  }
}

/** The accounts of teams, users, and keys without an owner. */
class Owners {
  private readonly made = new Map<string, FoundAccount>()
  private readonly names = new Names()
  /** Keys of each team that are imported. */
  readonly keysOfTeams = new Map<SourceRow, number>()

  constructor(
    private readonly tables: Pick<Tables, 'teams' | 'users' | 'projects'>,
    private readonly found: Found,
  ) {}

  teamOf(key: SourceRow): SourceRow | undefined {
    return this.tables.teams.get(textIn(key, 'team_id'))
  }

  projectOf(key: SourceRow): SourceRow | undefined {
    return this.tables.projects.get(textIn(key, 'project_id'))
  }

  /** The row whose limits all keys of an account share: its team, otherwise its user. */
  holderOf(key: SourceRow): SourceRow | undefined {
    return this.teamOf(key) ?? this.tables.users.get(textIn(key, 'user_id'))
  }

  /** The account that pays for a key: its team's, otherwise its user's, otherwise its own. */
  accountOf(key: SourceRow): FoundAccount {
    const team = this.teamOf(key)
    if (team) {
      this.keysOfTeams.set(team, (this.keysOfTeams.get(team) ?? 0) + 1)
      return this.account(`team ${textIn(team, 'team_id')}`, textIn(team, 'team_alias'), team)
    }
    const userId = textIn(key, 'user_id')
    const user = this.tables.users.get(userId)
    const name = user ? textIn(user, 'user_alias') || textIn(user, 'user_email') || userId : ''
    if (user) return this.account(`user ${userId}`, name, user)
    return this.account(`key ${textIn(key, 'token')}`, textIn(key, 'key_alias'), key)
  }

  private account(id: string, title: string, row: SourceRow): FoundAccount {
    const known = this.made.get(id)
    if (known) return known
    const name = this.names.take(title || id.replace(/^\w+ /, ''), 'account')
    const account: FoundAccount = {
      id,
      name,
      displayName: displayNameOf(title, name),
      note: noteOf(textIn(row, 'user_email')),
      balanceNano: balanceOf(row, name, this.found),
      isFrozen: isIn(row, 'blocked') && id.startsWith('team '),
      plan: null,
    }
    this.made.set(id, account)
    this.found.accounts.push(account)
    return account
  }
}

interface Context {
  owners: Owners
  names: Names
  models: LitellmModels | undefined
  budgets: Budgets
  found: Found
}

function readToken(row: SourceRow, { owners, names, models, budgets, found }: Context): void {
  const token = textIn(row, 'token')
  const title = textIn(row, 'key_alias') || textIn(row, 'key_name') || token.slice(0, 8)
  const leave = (why: string) => found.left.push({ what: `key ${title}`, why })
  if (textIn(row, 'team_id') === DASHBOARD) return void leave('is a session of the dashboard')
  const hash = token.startsWith('sk-') ? hashSecret(token) : token.toLowerCase()
  if (!HASH.test(hash)) return void leave('is not the hash of a secret')
  const account = owners.accountOf(row)
  const project = owners.projectOf(row)
  const budget = keyBudgetOf(row, budgets, leave)
  if (budget.why !== undefined) leave(budget.why)
  for (const column of NOT_CARRIED) if (hasValue(row, column)) leave(`its ${column} is not carried`)
  found.keys.push({
    name: names.take(textIn(row, 'key_alias') || `${account.name}.${token.slice(0, 8)}`, 'key'),
    account: account.name,
    hash,
    hint: textIn(row, 'key_name').replace('...', '…') || 'sk-…',
    isPaused: isIn(row, 'blocked') || budget.isSpent || (project !== undefined && isIn(project, 'blocked')),
    createdAt: timeIn(row, 'created_at'),
    settings: {
      ...unlimited,
      ...leastLimits(row, budgets, owners.holderOf(row)),
      ...budget.settings,
      models: modelsOf(row, { team: owners.teamOf(row), project }, models, leave),
      expiresAt: timeIn(row, 'expires'),
    },
  })
}

function hasValue(row: SourceRow, column: string): boolean {
  const value = jsonIn(row, column)
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0
  return !['', '{}', '[]', 'null'].includes(textIn(row, column))
}

const ALL = new Set(['all-proxy-models', 'all-team-models'])

function modelsOf(
  row: SourceRow,
  { team, project }: { team: SourceRow | undefined; project: SourceRow | undefined },
  models: LitellmModels | undefined,
  leave: (why: string) => void,
): string[] | null {
  const own = listIn(row, 'models')
  if (own.includes('no-default-models')) return []
  const ofTeam = team ? listIn(team, 'models') : []
  const named = own.length === 0 || own.includes('all-team-models') ? ofTeam : own
  const ids = idsOf(named, models, leave)
  const ofProject = project ? idsOf(listIn(project, 'models'), models, leave) : null
  return ids && ofProject ? ids.filter((id) => ofProject.includes(id)) : (ids ?? ofProject)
}

/** The ids of models and of groups of models; null for all. */
function idsOf(
  given: readonly string[],
  models: LitellmModels | undefined,
  leave: (why: string) => void,
): string[] | null {
  const names = given.filter((name) => name !== 'no-default-models')
  if (names.length === 0 || names.some((name) => ALL.has(name))) return null
  if (!models) return names.map((name) => name.toLowerCase())
  const { ids, groups } = models
  return [
    ...new Set(
      idsOfModels(
        names.flatMap((name) => groups.get(name) ?? [name]),
        ids,
        leave,
      ),
    ),
  ]
}

/** Lists limits that several keys or accounts share there but not here, and rules that cannot be expressed here. */
function listShared(tables: Tables, owners: Owners, found: Found): void {
  const leave = (what: string, why: string) => found.left.push({ what, why })
  const minutes = ['tpm_limit', 'rpm_limit', 'max_parallel_requests']
  for (const [team, count] of owners.keysOfTeams) {
    const name = textIn(team, 'team_alias') || textIn(team, 'team_id')
    if (count > 1 && minutes.some((column) => hasValue(team, column)))
      leave(`team ${name}`, `its ${count} keys share its limits there: here each of them may use as much`)
    for (const column of ['model_max_budget', 'budget_limits', 'model_id', 'router_settings', 'tpd_limit'])
      if (hasValue(team, column)) leave(`team ${name}`, `its ${column} is not carried`)
  }
  for (const row of tables.organizations) {
    const most = tables.budgets.tierOf(row)
    const name = textIn(row, 'organization_alias') || textIn(row, 'organization_id')
    if (most && hasValue(most, 'max_budget'))
      leave(
        `organization ${name}`,
        `its teams may spend $${textIn(most, 'max_budget')} together there: here each team has money of its own`,
      )
  }
  for (const row of tables.projects.values())
    if (tables.budgets.tierOf(row))
      leave(
        `project ${textIn(row, 'project_alias') || textIn(row, 'project_id')}`,
        'the budget that its keys share there is not carried: its keys have their own',
      )
  for (const [rows, what] of [
    [tables.endUsers, 'end users'],
    [tables.tags, 'tags'],
  ] as const) {
    const limited = rows.filter(
      (row) => hasValue(row, 'budget_id') || hasValue(row, 'models') || isIn(row, 'blocked'),
    )
    if (limited.length > 0)
      leave(`${limited.length} ${what}`, 'their budgets, models and blocks are not carried: set them by hand')
  }
  for (const row of tables.models)
    leave(
      `model ${textIn(row, 'model_name')} of the database`,
      'its settings are encrypted there: write it into config.yaml, or add it by hand',
    )
}
