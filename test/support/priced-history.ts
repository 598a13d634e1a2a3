// Random histories of charges with known quantities: chats of every tier and length, pictures, speech, transcription and videos at
// the prices of plans, some of them late, cut, released or above their hold. Tests compare a rehearsal with these quantities.

import {
  addCredit,
  adjust,
  type Charge,
  hold,
  release,
  settle,
  settleLate,
} from '../../src/billing/ledger/ledger'
import { costListOf } from '../../src/config/models/costs'
import { plansOf } from '../../src/config/models/plans'
import { type PriceConfig, priceListOf } from '../../src/config/models/prices'
import type { Config, ModelConfig } from '../../src/config/schema'
import { billByTariff, tableNano, tariffOfVariant } from '../../src/contract/prices'
import type { Quantities } from '../../src/contract/units'
import { apply, type Db } from '../../src/db/db'
import { randomPrice } from './bookkeepers/price-lists'
import { makeCharge, makeSettlement } from './databases/ledger-rows'
import type { Random } from './random'

export const ACCOUNTS = { ann: null, bob: 'gold', cy: 'silver' } as const
const upstream = 'vendor'

/** A charge in memory. */
export interface PricedCharge {
  id: string
  account: keyof typeof ACCOUNTS
  model: string
  quantities: Quantities
  tier: string | undefined
  variant: string | undefined
  /** `cut`: ended at its hold, below its price. */
  state: 'settled' | 'cut' | 'released'
  priceNano: number
  endedAt: number
}

/** Models of every kind at random prices. */
export function randomConfig(random: Random): Config {
  const entry = (family: string, price: PriceConfig, more: Partial<ModelConfig> = {}): ModelConfig => ({
    family,
    upstream,
    price,
    ...more,
  })
  const price = randomPrice(random)
  return {
    upstreams: { [upstream]: { kind: 'openai', apiKey: 'none' } },
    models: {
      talk: entry('openai-chat', price, random.chance(0.5) ? { cost: price } : {}),
      chatter: entry('openai-chat', randomPrice(random)),
      picture: entry('dalle-images', { per_image: { low: '0.01', high: '0.04' } } as PriceConfig),
      voice: entry('dashscope-speech', { per_1m_characters: '15', minimum: '0.0001' }),
      ear: entry('openai-transcriptions', { per_audio_minute: '0.006' }),
      film: entry('xai-video', { per_second: { '720p': '0.05', '1080p': '0.07' } } as PriceConfig),
      gift: { family: 'openai-chat', upstream, free: true },
    },
    plans: {
      gold: { priceFactor: random.pick(['0.9', '0.333333', '2']) },
      silver: { priceFactor: '0.8', priceFactors: { 'ta*': '0.5', picture: '1.1' } },
    },
  }
}

/** Bills a use by a configuration, as the request line does. */
export function billOfUse(
  config: Config,
  { account, model, quantities, tier, variant }: Omit<PricedCharge, 'id' | 'state' | 'priceNano' | 'endedAt'>,
) {
  const entry = config.models[model] as ModelConfig
  const plan = plansOf(config.plans).get(ACCOUNTS[account] ?? '')
  const list = plan ? plan.listed(model, priceListOf(entry)) : priceListOf(entry)
  const tariff = tariffOfVariant(list, variant ? [variant] : [], costListOf(entry, upstream))
  if (!tariff) throw new Error(`${model} has no ${variant}`)
  const used = list.tables[0]?.listed.request === undefined ? quantities : { ...quantities, request: 1 }
  const bill = billByTariff(tariff, used, tier, tier)
  return {
    priceNano: tableNano(used, bill.table),
    costNano: bill.cost ? tableNano(used, bill.cost) : null,
    pricesJson: bill.json,
    quantities: used,
  }
}

export class PricedHistory {
  readonly charges: PricedCharge[] = []
  private ids = 0

  constructor(
    readonly db: Db,
    readonly config: Config,
    private readonly random: Random,
  ) {}

  async begin(at: number, nano: number): Promise<void> {
    for (const [account, plan] of Object.entries(ACCOUNTS)) {
      await this.credit(account, at, nano)
      await apply(this.db, [
        {
          sql: `insert into account_details (name, plan) values ($1, $2)
            on conflict (name) do update set plan = excluded.plan`,
          parameters: [account, plan],
        },
      ])
    }
  }

  async credit(account: string, now: number, amountNano: number): Promise<void> {
    await addCredit(this.db, { id: `credit-${++this.ids}`, account, amountNano, now, note: null })
  }

  /** Adds some movements that end at a time. */
  async grow(at: number): Promise<void> {
    const { random, db } = this
    const account = random.pick(Object.keys(ACCOUNTS)) as keyof typeof ACCOUNTS
    if (random.chance(0.1)) await this.credit(account, at, 1 + random.below(50_000_000))
    if (random.chance(0.05))
      await adjust(db, { id: `adjust-${++this.ids}`, account, amountNano: -1_000, now: at, note: 'less' })
    const use = { account, ...this.randomUse() }
    const bill = billOfUse(this.config, use)
    const isLate = random.chance(0.05)
    const isBeyond = random.chance(0.1)
    const heldNano = isBeyond ? Math.floor(bill.priceNano / 2) : bill.priceNano + random.below(1_000)
    const charge: Charge = makeCharge(heldNano, {
      id: `use-${++this.ids}`,
      account,
      model: use.model,
      operation: use.model === 'film' ? 'video' : 'chat',
      pricesJson: bill.pricesJson,
      createdAt: at - 1_000,
      expiresAt: at + 60_000,
    })
    if (!('held' in (await hold(db, charge)))) return
    const known = {
      ...use,
      id: charge.id,
      quantities: bill.quantities,
      priceNano: bill.priceNano,
      endedAt: at,
    }
    const usageJson = this.usageOf(use.quantities)
    const settlement = makeSettlement(bill.priceNano, {
      costNano: bill.costNano,
      usageSource: usageJson ? 'upstream' : 'counted',
      usageJson,
      endedAt: at,
    })
    if (isLate || random.chance(0.1)) {
      await release(db, charge, { endedBy: isLate ? 'expired' : 'upstream', endedAt: at, costNano: null })
      this.charges.push({ ...known, state: 'released' })
      if (!isLate) return
      await settleLate(db, charge, settlement)
      this.charges.push({ ...known, id: `${charge.id}:late`, state: 'settled' })
      return
    }
    if (isBeyond && random.chance(0.5)) {
      await settle(db, charge, { ...settlement, priceNano: heldNano, endedBy: 'balance' })
      this.charges.push({ ...known, state: heldNano === bill.priceNano ? 'settled' : 'cut' })
      return
    }
    await settle(db, charge, settlement)
    this.charges.push({ ...known, state: 'settled' })
  }

  private randomUse(): Pick<PricedCharge, 'model' | 'quantities' | 'tier' | 'variant'> {
    const { random } = this
    const none = { tier: undefined, variant: undefined }
    const model = random.pick(['talk', 'talk', 'talk', 'chatter', 'picture', 'voice', 'ear', 'film', 'gift'])
    if (model === 'picture')
      return {
        ...none,
        model,
        quantities: { image: 1 + random.below(4) },
        variant: random.pick(['low', 'high']),
      }
    if (model === 'voice') return { ...none, model, quantities: { character: 1 + random.below(50) } }
    if (model === 'ear') return { ...none, model, quantities: { audio_second: 1 + random.below(900) } }
    if (model === 'film')
      return {
        ...none,
        model,
        quantities: { second: 1 + random.below(15) },
        variant: random.pick(['720p', '1080p']),
      }
    const cached = random.chance(0.5) ? random.below(900) : 0
    return {
      ...none,
      model,
      tier: random.pick([undefined, 'flex', 'priority', 'default']),
      quantities: {
        input_token: random.below(2_500),
        output_token: random.below(900),
        ...(cached > 0 && { cached_input_token: cached }),
      },
    }
  }

  /** The vendor's usage object for tokens; null without one. */
  private usageOf({
    input_token: input,
    cached_input_token: cached = 0,
    output_token: output,
  }: Quantities): string | null {
    if (input === undefined || this.random.chance(0.2)) return null
    return JSON.stringify({
      prompt_tokens: input + cached,
      completion_tokens: output,
      prompt_tokens_details: { cached_tokens: cached },
    })
  }
}
