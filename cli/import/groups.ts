// Groups of One API and New API: a channel serves some of them, a user is in one, and a token of New API may name another. An
// account must not get more here than its group had there: a group becomes a plan with its models and its price factor, and a key
// of another group gets a list of models. Facts of model/ability.go of both, and of middleware/auth.go, service/group.go and
// setting/ratio_setting/group_ratio.go of New API.

import type { PlanEntry } from '../../src/config/models/plans'
import { asObject } from '../../src/lib/objects'
import { type Found, type FoundAccount, type FoundKey, Names, type PlanNames } from './found'
import type { Offer } from './offers'

/** A model as one channel serves it, and the groups that it serves. */
export interface GroupedOffer extends Offer {
  groups: readonly string[]
}

/** The models of each group: the names that its callers use, with the names under which their models are imported. */
export type Served = ReadonlyMap<string, ReadonlyMap<string, string>>

/** A key with the groups that serve it, in the order in which they are tried, and the names that its token is limited to. */
export interface GroupedKey {
  key: FoundKey
  groups: readonly string[]
  limits: readonly string[]
}

/** An account with the group of its user and its keys. */
export interface Member {
  account: FoundAccount
  group: string
  keys: GroupedKey[]
}

/** The default groups of New API. */
const USABLE = { default: '', vip: '' }
const AUTO = 'auto'

/** The rules of groups in the options of a database. */
export class GroupRules {
  private readonly ratios: Record<string, unknown>
  private readonly special: Record<string, unknown>
  private readonly usable: Record<string, unknown>
  private readonly extra: Record<string, unknown>
  private readonly auto: readonly string[]

  constructor(optionOf: (name: string) => unknown) {
    this.ratios = asObject(optionOf('GroupRatio'))
    this.special = asObject(optionOf('GroupGroupRatio'))
    this.usable = asObject(optionOf('UserUsableGroups') ?? USABLE)
    this.extra = asObject(optionOf('group_ratio_setting.group_special_usable_group'))
    const auto = optionOf('AutoGroups')
    this.auto = Array.isArray(auto) ? auto.map(String) : ['default']
  }

  /** The groups that serve a token of a user, in the order in which they are tried; empty if it is refused there. */
  groupsOf(token: string, user: string): string[] {
    if (token === '' || token === user) return [user]
    const usable = this.usableBy(user)
    return (token === AUTO ? this.auto : [token]).filter((group) => usable.has(group))
  }

  /** The factor on prices that a user of a group pays while another group serves it. */
  factorOf(user: string, group: string): number {
    const factor = asObject(this.special[user])[group] ?? this.ratios[group] ?? 1
    return Number(factor)
  }

  private usableBy(user: string): Set<string> {
    const usable = new Set([...Object.keys(this.usable), user])
    for (const entry of Object.keys(asObject(this.extra[user]))) {
      if (entry.startsWith('-:')) usable.delete(entry.slice(2))
      else usable.add(entry.replace(/^\+:/, ''))
    }
    return usable
  }
}

/**
 * Gives each model the channels that all groups with that model may use. Without such a channel, groups with equal channels share a
 * model, and only the first keeps its name. `used` are the groups of users and keys, those with the most keys first.
 */
export function divideOffers(
  offers: ReadonlyMap<string, readonly GroupedOffer[]>,
  used: readonly string[],
  found: Found,
): { offers: Map<string, Offer[]>; served: Served } {
  const divided = new Map<string, Offer[]>()
  const served = new Map(used.map((group) => [group, new Map<string, string>()]))
  const prefixes = new Prefixes()
  const unused = new Map<string, string[]>()
  const renamed = new Map<string, string[]>()
  for (const [name, all] of offers) {
    const sharing = used.filter((group) => all.some(({ groups }) => groups.includes(group)))
    const common = all.filter(({ groups }) => sharing.every((group) => groups.includes(group)))
    if (common.length > 0) {
      divided.set(name, common)
      for (const group of sharing) served.get(group)?.set(name, name)
      for (const { upstream } of all.filter((offer) => !common.includes(offer)))
        unused.set(upstream, [...(unused.get(upstream) ?? []), name])
      continue
    }
    const names = new Map<string, string>()
    for (const group of sharing) {
      const own = all.filter(({ groups }) => groups.includes(group))
      const channels = own.map(({ upstream }) => upstream).join()
      const known = names.get(channels)
      const given = known ?? (names.size === 0 ? name : `${prefixes.of(group)}/${name}`)
      names.set(channels, given)
      served.get(group)?.set(name, given)
      if (known === undefined) divided.set(given, own)
      if (given !== name) renamed.set(group, [...(renamed.get(group) ?? []), `${name} is ${given}`])
    }
  }
  for (const [upstream, names] of unused)
    found.left.push({
      what: `channel ${upstream}`,
      why: `does not serve all groups that have these models, so it is not used for them: ${names.join(', ')}`,
    })
  for (const [group, names] of renamed)
    found.left.push({
      what: `group ${group}`,
      why: `shares no channel with other groups for these models, so its callers ask for other names: ${names.join(', ')}`,
    })
  return { offers: divided, served }
}

/** Prefixes of models that only one group has. */
class Prefixes {
  private readonly names = new Names()
  private readonly known = new Map<string, string>()

  of(group: string): string {
    const prefix = this.known.get(group) ?? this.names.take(group, 'group').toLowerCase()
    this.known.set(group, prefix)
    return prefix
  }
}

/** Gives accounts the plans of their groups, and keys the models of theirs. */
export function assignPlans(
  members: Iterable<Member>,
  rules: GroupRules,
  {
    served,
    ids,
    names,
    found,
  }: { served: Served; ids: ReadonlyMap<string, string>; names: PlanNames; found: Found },
): void {
  const known = new Map<string, string>()
  const factors = new Factors(rules, found)
  for (const { account, group, keys } of members) {
    const lists = keys.length > 0 ? keys.map(({ groups }) => groups) : [[group]]
    const sets = lists.map((groups) => modelsOf(groups, served, ids))
    const models = new Set(sets.flatMap((set) => [...set.values()].map(({ id }) => id)))
    for (const [index, key] of keys.entries()) limitKey(key, sets[index] ?? new Map(), models, ids, found)
    if (models.size === 0) {
      const why = `is of group ${group}, which no model that is carried over serves: its keys may use no model`
      found.left.push({ what: `account ${account.name}`, why })
      continue
    }
    const entry = {
      ...factors.ofModels(account.name, group, sets, found.routes),
      ...(models.size < new Set(ids.values()).size && { models: [...models].sort() }),
    }
    if (Object.keys(entry).length === 0) continue
    const identity = JSON.stringify(entry)
    const name = known.get(identity) ?? names.take([...new Set(lists.flat())].join('-') || group)
    known.set(identity, name)
    found.plans[name] = entry
    account.plan = name
  }
}

/** The models that groups serve, by the names that callers use; each name belongs to the first group that has it. */
function modelsOf(
  groups: readonly string[],
  served: Served,
  ids: ReadonlyMap<string, string>,
): Map<string, { id: string; group: string }> {
  const models = new Map<string, { id: string; group: string }>()
  for (const group of groups)
    for (const [name, carried] of served.get(group) ?? []) {
      const id = ids.get(carried)
      if (id !== undefined && !models.has(name)) models.set(name, { id, group })
    }
  return models
}

/** Limits a key to what its token may use in its groups, unless its plan already does. */
function limitKey(
  { key, groups, limits }: GroupedKey,
  own: ReadonlyMap<string, { id: string }>,
  ofPlan: ReadonlySet<string>,
  ids: ReadonlyMap<string, string>,
  found: Found,
): void {
  const leave = (why: string) => found.left.push({ what: `key ${key.name}`, why })
  if (groups.length === 0) {
    leave('is refused there, because its user may not use its group: it is paused')
    key.isPaused = true
    key.settings.models = []
    return
  }
  const usable = new Set([...own.values()].map(({ id }) => id))
  const missing = limits.filter((name) => !ids.has(name) && !own.has(name))
  if (missing.length > 0) leave(`may use models that are not carried over: ${missing.join(', ')}`)
  if (limits.length > 0) key.settings.models = [...new Set(limits.flatMap((name) => own.get(name)?.id ?? []))]
  else if (usable.size < ofPlan.size || ofPlan.size === 0) key.settings.models = [...usable].sort()
}

/** Factors of plans. Anything that no plan can express is listed once. */
class Factors {
  private readonly refused = new Set<string>()

  constructor(
    private readonly rules: GroupRules,
    private readonly found: Found,
  ) {}

  /** The factors of an account's models; if its keys have different ones for a model, the highest. */
  ofModels(
    account: string,
    user: string,
    sets: readonly ReadonlyMap<string, { id: string; group: string }>[],
    routes: Found['routes'],
  ): Pick<PlanEntry, 'priceFactor' | 'priceFactors'> {
    const byModel = new Map<string, string>()
    let differ = false
    for (const { id, group } of sets.flatMap((set) => [...set.values()])) {
      const factor = this.textOf(user, group)
      const known = byModel.get(id)
      differ ||= known !== undefined && known !== factor
      if (known === undefined || Number(known) < Number(factor)) byModel.set(id, factor)
    }
    if (differ) {
      const why =
        'its keys are of groups that pay different prices for the same models: here all pay the highest'
      this.found.left.push({ what: `account ${account}`, why })
    }
    const usual = mostFrequent([...byModel.values()])
    const others = [...byModel]
      .filter(([, factor]) => factor !== usual)
      .flatMap(([id, factor]) => [id, ...(routes[id]?.route ?? [])].map((each) => [each, factor]))
    return {
      ...(usual !== '1' && { priceFactor: usual }),
      ...(others.length > 0 && { priceFactors: Object.fromEntries(others) }),
    }
  }

  private textOf(user: string, group: string): string {
    const factor = this.rules.factorOf(user, group)
    const text = String(factor)
    if (/^\d{1,3}(\.\d{1,6})?$/.test(text) && factor > 0) return text
    if (!this.refused.has(group)) {
      this.refused.add(group)
      const why = `pays ${text} times the prices there, which a plan cannot express: it pays the full price`
      this.found.left.push({ what: `group ${group}`, why })
    }
    return '1'
  }
}

function mostFrequent(texts: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
  return [...counts].sort(([, one], [, other]) => other - one)[0]?.[0] ?? '1'
}
