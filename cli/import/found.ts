// The content of another gateway in the terms of this one: each reader finds it in its own way, and one writer imports it. Anything
// that cannot be imported is listed with the reason, so that nothing is lost silently.

import { MAX_DISPLAY_NAME_LENGTH, MAX_NOTE_LENGTH } from '../../src/accounts/accounts'
import type { KeySettings } from '../../src/accounts/keys'
import { isName } from '../../src/accounts/names'
import type { PlanEntry } from '../../src/config/models/plans'
import type { PriceConfig } from '../../src/config/models/prices'
import type { RouteConfig } from '../../src/config/models/route-entry'

export interface FoundAccount {
  /** The id in the other gateway, which permanently identifies its opening credit. */
  id: string
  name: string
  displayName: string | null
  /** How to reach the people of the account, for operators only. */
  note: string | null
  /** Nano-dollars that it can spend there now. */
  balanceNano: number
  isFrozen: boolean
  /** The plan whose prices it pays and whose models it may use. */
  plan: string | null
}

export interface FoundKey {
  name: string
  account: string
  /** SHA-256 of the whole secret as callers send it, in hexadecimal. */
  hash: string
  hint: string
  isPaused: boolean
  createdAt: number | null
  settings: KeySettings
}

/** An unredeemed prepaid code. */
export interface FoundCode {
  /** In clear text: it must never be shown. */
  code: string
  amountNano: number
  note: string | null
  createdAt: number | null
  expiresAt: number | null
}

export interface FoundUpstream {
  name: string
  kind: string
  baseUrl: string | undefined
  apiVersion?: string
  /** Keys with the variables from which the configuration reads them. A key that is already in the environment has no value. */
  keys: { variable: string; value: string | undefined }[]
}

export interface FoundModel {
  id: string
  family: string
  /** Upstreams that are equal, with the share of each. */
  upstreams: Record<string, number>
  upstreamModel: string
  price: PriceConfig | 'free'
}

/** Something that is not imported, and why. */
export interface SkippedItem {
  what: string
  why: string
}

export interface Found {
  accounts: FoundAccount[]
  keys: FoundKey[]
  codes: FoundCode[]
  upstreams: FoundUpstream[]
  models: FoundModel[]
  /** Models that are tried one after another, by the id that callers ask for. */
  routes: Record<string, RouteConfig>
  aliases: Record<string, string>
  plans: Record<string, PlanEntry>
  left: SkippedItem[]
}

export function nothingFound(): Found {
  return {
    accounts: [],
    keys: [],
    codes: [],
    upstreams: [],
    models: [],
    routes: {},
    aliases: {},
    plans: {},
    left: [],
  }
}

/** The budget of a key here, and how it differs from its former one. */
export interface FoundBudget {
  settings: Partial<Pick<KeySettings, 'budgetNano' | 'budgetPeriod'>>
  /** Whether the budget is used up, so that the key may use nothing. */
  isSpent: boolean
  why?: string
}

/** A total limit becomes a monthly budget, which is the same in the first month and never exceeds it at once. */
export function budgetOfRest(leftNano: number): FoundBudget {
  if (leftNano <= 0) return { isSpent: true, settings: {}, why: 'has used all that it may: it is paused' }
  return {
    isSpent: false,
    settings: { budgetNano: leftNano, budgetPeriod: 'month' },
    why: 'what it may still use in total becomes its monthly budget',
  }
}

/** The ids of the models that a key may use, as far as they are imported. */
export function idsOfModels(
  names: readonly string[],
  ids: ReadonlyMap<string, string>,
  leave: (why: string) => void,
): string[] {
  const missing = names.filter((name) => !ids.has(name))
  if (missing.length > 0) leave(`may use models that are not carried over: ${missing.join(', ')}`)
  return names.flatMap((name) => ids.get(name) ?? [])
}

/** A note with the e-mail address of an account and other known facts; null if nothing is known. */
export function noteOf(email: string, ...others: readonly string[]): string | null {
  const parts = [...(email === '' ? [] : [`e-mail ${email}`]), ...others.filter((text) => text !== '')]
  return parts.length === 0 ? null : parts.join('; ').slice(0, MAX_NOTE_LENGTH)
}

/** The display name of an account: its name there, unless its name here is the same. */
export function displayNameOf(title: string, name: string): string | null {
  return title === '' || title === name ? null : title.slice(0, MAX_DISPLAY_NAME_LENGTH)
}

/** Names of plans here, which differ. */
export class PlanNames {
  private readonly names = new Names()

  take(text: string): string {
    return this.names
      .take(text, 'group')
      .toLowerCase()
      .replace(/^[^a-z0-9]+/, 'group-')
      .replaceAll('@', '-')
  }
}

const MAX_NAME_LENGTH = 64

/** Valid and distinct names, in the order of the requests. */
export class Names {
  private readonly taken = new Set<string>()

  /** The valid name nearest to a text; `otherwise` if nothing of it is left. */
  take(text: string, otherwise: string): string {
    const plain = text
      .normalize('NFKD')
      .replaceAll(/\p{M}/gu, '')
      .replaceAll(/[^A-Za-z0-9._@-]+/g, '-')
      .replaceAll(/^-+|-+$/g, '')
    const base = (plain || otherwise).slice(0, MAX_NAME_LENGTH - 8)
    for (let count = 1; ; count++) {
      const name = count === 1 ? base : `${base}-${count}`
      if (this.taken.has(name.toLowerCase()) || !isName(name)) continue
      this.taken.add(name.toLowerCase())
      return name
    }
  }
}

/** A model id as this gateway writes them; undefined for a name that cannot be one. */
export function modelIdOf(name: string): string | undefined {
  const id = name.toLowerCase()
  return /^[a-z0-9][a-z0-9._:/-]{0,119}$/.test(id) ? id : undefined
}

/** Decimals of a price of a million tokens: a pico-dollar for one. */
const PRICE_DECIMALS = 6

/** Dollars per million as a decimal; undefined for anything that is not a price. */
export function priceText(usd: number): string | undefined {
  if (!Number.isFinite(usd) || usd < 0 || usd > 1_000_000) return undefined
  const [whole = '0', fraction = ''] = usd.toFixed(PRICE_DECIMALS).split('.')
  return `${whole}.${fraction.replace(/0+$/, '').padEnd(2, '0')}`
}

/** Prices of tokens in dollars per million; undefined if one of them is invalid. */
export function tokenPrice(
  family: string,
  usd: { input: number; output: number; cached?: number | undefined; written?: number | undefined },
): PriceConfig | 'free' | undefined {
  const { input, output, cached, written } = usd
  const isChat = !family.endsWith('-embeddings')
  const amounts = {
    per_1m_input_tokens: priceText(input),
    ...(isChat && {
      per_1m_output_tokens: priceText(output),
      ...(cached !== undefined && { per_1m_cached_input_tokens: priceText(cached) }),
      ...(written !== undefined && { per_1m_cache_write_tokens: priceText(written) }),
    }),
  }
  if (Object.values(amounts).some((amount) => amount === undefined)) return undefined
  const isFree = [input, ...(isChat ? [output, cached ?? 0, written ?? 0] : [])].every((usd) => usd === 0)
  return isFree ? 'free' : (amounts as PriceConfig)
}
