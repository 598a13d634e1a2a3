// Reads LiteLLM's proxy: keys, teams and users from its PostgreSQL, models from its config.yaml. Keys stand there as
// SHA-256 of the whole secret, as they do here. It has no balances: what is left of a budget becomes one.

import { hashSecret, unlimited } from '../../src/accounts/keys'
import { parseUsd } from '../../src/lib/money'
import {
  budgetOfRest,
  type Found,
  type FoundAccount,
  type FoundBudget,
  idsOfModels,
  Names,
  nothingFound,
} from './found'
import { readLitellmModels } from './litellm-models'
import { isIn, listIn, numberIn, type SourceDatabase, type SourceRow, textIn, timeIn } from './source'

const HASH = /^[0-9a-f]{64}$/
/** The team of keys that the dashboard makes for its own sessions. */
const DASHBOARD = 'litellm-dashboard'

export async function readLitellm(
  database: SourceDatabase | undefined,
  configText: string | undefined,
): Promise<Found> {
  const found = nothingFound()
  const ids = configText === undefined ? undefined : readLitellmModels(configText, found, process.env)
  if (!database) return found
  const [tokens, teams, users, models] = [
    await database.rows('LiteLLM_VerificationToken', 'token', 'needed'),
    await database.rows('LiteLLM_TeamTable', 'team_id'),
    await database.rows('LiteLLM_UserTable', 'user_id'),
    await database.rows('LiteLLM_ProxyModelTable', 'model_name'),
  ]
  const owners = new Owners(teams, users, found)
  const names = new Names()
  for (const row of tokens) readToken(row, owners, names, ids, found)
  for (const row of models)
    found.left.push({
      what: `model ${textIn(row, 'model_name')} of the database`,
      why: 'its settings are encrypted there: write it into config.yaml, or add it by hand',
    })
  return found
}

/** The accounts of teams, users, and keys of nobody. */
class Owners {
  private readonly teams: ReadonlyMap<string, SourceRow>
  private readonly users: ReadonlyMap<string, SourceRow>
  private readonly made = new Map<string, FoundAccount>()
  private readonly names = new Names()

  constructor(
    teams: readonly SourceRow[],
    users: readonly SourceRow[],
    private readonly found: Found,
  ) {
    this.teams = new Map(teams.map((row) => [textIn(row, 'team_id'), row]))
    this.users = new Map(users.map((row) => [textIn(row, 'user_id'), row]))
  }

  teamOf(key: SourceRow): SourceRow | undefined {
    return this.teams.get(textIn(key, 'team_id'))
  }

  /** The account that pays for a key: of its team, else of its user, else its own. */
  accountOf(key: SourceRow): FoundAccount {
    const team = this.teamOf(key)
    if (team) return this.account(`team ${textIn(team, 'team_id')}`, textIn(team, 'team_alias'), team)
    const userId = textIn(key, 'user_id')
    const user = this.users.get(userId)
    const name = user ? textIn(user, 'user_alias') || textIn(user, 'user_email') || userId : ''
    if (user) return this.account(`user ${userId}`, name, user)
    return this.account(`key ${textIn(key, 'token')}`, textIn(key, 'key_alias'), key)
  }

  private account(id: string, name: string, row: SourceRow): FoundAccount {
    const known = this.made.get(id)
    if (known) return known
    const account: FoundAccount = {
      id,
      name: this.names.take(name || id.replace(/^\w+ /, ''), 'account'),
      displayName: null,
      balanceNano: this.balanceOf(row, name || id),
      isFrozen: isIn(row, 'blocked') && id.startsWith('team '),
      plan: null,
    }
    this.made.set(id, account)
    this.found.accounts.push(account)
    return account
  }

  private balanceOf(row: SourceRow, what: string): number {
    const budget = numberIn(row, 'max_budget')
    const leave = (why: string) => this.found.left.push({ what: `account ${what}`, why })
    if (budget === undefined) {
      leave('has no budget there, so it begins without money: gateway balance add')
      return 0
    }
    const left = parseUsd((budget - (numberIn(row, 'spend') ?? 0)).toFixed(9))
    if (textIn(row, 'budget_duration') !== '')
      leave(`its budget is renewed each ${textIn(row, 'budget_duration')} there: here money is added`)
    if (left === undefined) leave('has more money than an account can have')
    return Math.max(left ?? 0, 0)
  }
}

function readToken(
  row: SourceRow,
  owners: Owners,
  names: Names,
  ids: ReadonlyMap<string, string> | undefined,
  found: Found,
): void {
  const token = textIn(row, 'token')
  const title = textIn(row, 'key_alias') || textIn(row, 'key_name') || token.slice(0, 8)
  const leave = (why: string) => found.left.push({ what: `key ${title}`, why })
  if (textIn(row, 'team_id') === DASHBOARD) return void leave('is a session of the dashboard')
  const hash = token.startsWith('sk-') ? hashSecret(token) : token.toLowerCase()
  if (!HASH.test(hash)) return void leave('is no hash of a secret')
  const account = owners.accountOf(row)
  const budget = budgetOf(row)
  if (budget.why !== undefined) leave(budget.why)
  for (const column of ['model_max_budget', 'budget_limits', 'allowed_routes', 'aliases', 'permissions'])
    if (!['', '{}', '[]', 'null', '[object Object]'].includes(textIn(row, column)))
      leave(`its ${column} is not carried`)
  found.keys.push({
    name: names.take(textIn(row, 'key_alias') || `${account.name}.${token.slice(0, 8)}`, 'key'),
    account: account.name,
    hash,
    hint: textIn(row, 'key_name').replace('...', '…') || 'sk-…',
    isPaused: isIn(row, 'blocked') || budget.isSpent,
    createdAt: timeIn(row, 'created_at'),
    settings: {
      ...unlimited,
      requestsPerMinute: positive(numberIn(row, 'rpm_limit')),
      tokensPerMinute: positive(numberIn(row, 'tpm_limit')),
      concurrency: positive(numberIn(row, 'max_parallel_requests')),
      ...budget.settings,
      models: modelsOf(row, owners.teamOf(row), ids, leave),
      expiresAt: timeIn(row, 'expires'),
    },
  })
}

/** A limit; null if it is larger than what can be counted. */
function positive(value: number | undefined): number | null {
  return value !== undefined && value >= 1 && value <= Number.MAX_SAFE_INTEGER ? Math.trunc(value) : null
}

const DURATION = /^(\d+)(s|m|h|d|w|mo)$/
const UNIT_DAYS = { s: 1 / 86_400, m: 1 / 1_440, h: 1 / 24, d: 1, w: 7, mo: 30 } as const

/** The budget of a key by the calendar, never larger than it was. */
function budgetOf(row: SourceRow): FoundBudget {
  const most = numberIn(row, 'max_budget')
  if (most === undefined) return { isSpent: false, settings: {} }
  const duration = textIn(row, 'budget_duration')
  const [, count = '', unit = 'd'] = DURATION.exec(duration) ?? []
  const days = Number(count) * UNIT_DAYS[unit as keyof typeof UNIT_DAYS]
  const spend = numberIn(row, 'spend') ?? 0
  if (duration === '' || !(days > 0)) return budgetOfNano(most - spend, budgetOfRest)
  const period = days <= 1 ? 'day' : days <= 7 ? 'week' : 'month'
  const usd = days > 31 ? (most * 30) / days : most
  const exact = ['1d', '24h', '7d', '1w', '30d', '31d', '1mo'].includes(duration)
  return budgetOfNano(usd, (nano) => {
    if (nano <= 0) return { isSpent: true, settings: {}, why: 'may use nothing: it is paused' }
    return {
      isSpent: false,
      settings: { budgetNano: nano, budgetPeriod: period },
      ...(!exact && { why: `its budget of each ${duration} becomes one of each ${period}` }),
    }
  })
}

/** A budget in dollars; null if it is larger than what can be counted. */
function budgetOfNano(usd: number, budgetOf: (nano: number) => FoundBudget): FoundBudget {
  const nano = usd > 0 ? parseUsd(usd.toFixed(9)) : 0
  return nano === undefined ? { isSpent: false, settings: {} } : budgetOf(nano)
}

const ALL = new Set(['all-proxy-models', 'all-team-models'])

function modelsOf(
  row: SourceRow,
  team: SourceRow | undefined,
  ids: ReadonlyMap<string, string> | undefined,
  leave: (why: string) => void,
): string[] | null {
  const own = listIn(row, 'models')
  const ofTeam = team ? listIn(team, 'models') : []
  const names = (own.length === 0 || own.includes('all-team-models') ? ofTeam : own).filter(
    (name) => name !== 'no-default-models',
  )
  if (own.includes('no-default-models')) return []
  if (names.length === 0 || names.some((name) => ALL.has(name))) return null
  return ids ? idsOfModels(names, ids, leave) : names.map((name) => name.toLowerCase())
}
