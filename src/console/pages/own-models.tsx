// Models that a key may use: what each does, its price in simple terms, an example in dollars, and when it ends.

import { address, hrefOf, hrefOfRow } from '../address'
import { askPrices, type PricedModel } from '../key-api'
import { decimalText } from '../language'
import { FilterBar } from '../parts/filter-bar'
import { Loaded } from '../parts/loaded'
import { Money, moneyText } from '../parts/money'
import { Facts, Panel } from '../parts/panel'
import { ModelEnd } from '../parts/status'
import { type Column, Table } from '../parts/table'
import { KINDS } from '../playground/conversation'
import { exampleOf, type PriceLine, priceLines } from '../prices'
import { useQuery } from '../query'
import { keyTexts, texts } from '../texts'

const words = keyTexts.models
/** Number of lines of a price list, other than uncached input and output, that fit in a row. */
const SHOWN_LINES = 2
/** Prices that have their own column. */
const [INPUT, OUTPUT] = ['per_1m_input_tokens', 'per_1m_output_tokens']

export default function OwnModels() {
  const load = useQuery(['prices'], askPrices)
  return (
    <>
      <h1 class="page-head">{words.title}</h1>
      <Loaded of={load}>
        {({ data }) => (
          <>
            <FilterBar
              filters={[
                { name: 'model', title: words.filter },
                { name: 'does', title: words.does, options: operationsOf(data) },
              ]}
            />
            <Models models={data} />
          </>
        )}
      </Loaded>
    </>
  )
}

/** All operations of some models, for a choice. */
function operationsOf(models: readonly PricedModel[]): [value: string, title: string][] {
  const names = new Set(models.flatMap(({ operations }) => operations))
  return [...names].map((name) => [name, texts.operations[name] ?? name])
}

const columns: readonly Column<PricedModel>[] = [
  { title: words.model, isFirstLine: true, cell: ({ id }) => id },
  { title: words.does, isFirstLine: true, cell: ({ operations }) => operationsText(operations) },
  {
    title: words.input,
    isNumber: true,
    priority: 1,
    cell: ({ prices }) => tokenPrice(prices?.[INPUT]),
  },
  {
    title: words.output,
    isNumber: true,
    priority: 1,
    cell: ({ prices }) => tokenPrice(prices?.[OUTPUT]),
  },
  { title: words.further, priority: 4, cell: (model) => <FurtherPrices model={model} /> },
  {
    title: words.context,
    isNumber: true,
    priority: 3,
    sort: ({ context_length: tokens }) => tokens || null,
    cell: ({ context_length: tokens }) => (tokens ? contextText(tokens) : ''),
  },
  { title: words.example, priority: 3, cell: (model) => exampleOf(model) ?? '' },
  { title: words.ends, cell: ({ shutdown_date: day }) => day && <ModelEnd day={day} /> },
]

function tokenPrice(price: unknown) {
  return typeof price === 'string' ? <Money usd={price} /> : ''
}

/** A number of tokens as vendors write it: `128K`, `1M`. */
function contextText(tokens: number): string {
  if (tokens >= 1_000_000) return `${decimalText(tokens / 1_000_000, tokens % 1_000_000 < 50_000 ? 0 : 1)}M`
  return tokens >= 1_000 ? `${Math.round(tokens / 1_000)}K` : String(tokens)
}

function operationsText(operations: readonly string[]): string {
  return operations.map((name) => texts.operations[name] ?? name).join(', ')
}

function Models({ models }: { models: readonly PricedModel[] }) {
  const { id, query } = address.value
  const wanted = query.model?.toLowerCase() ?? ''
  const shown = models.filter(
    ({ id, operations }) =>
      [id, ...operations].some((text) => text.toLowerCase().includes(wanted)) &&
      (!query.does || operations.some((name) => name === query.does)),
  )
  const open = models.find((model) => model.id === id)
  return (
    <>
      <Table
        label={words.title}
        columns={columns}
        rows={shown}
        keyOf={(model) => model.id}
        hrefOf={(model) => hrefOfRow(model.id)}
        openKey={id}
        empty={models.length === 0 ? words.empty : words.noneFound}
      />
      {open && <ModelPanel model={open} key={open.id} />}
    </>
  )
}

/** Prices other than those of uncached input and output, which have their own columns. */
function FurtherPrices({ model: { prices, route } }: { model: PricedModel }) {
  if (!prices) return <span class="quiet">{route ? route.join(', ') : words.free}</span>
  const further = Object.entries(prices).filter(
    ([name, price]) => typeof price !== 'string' || ![INPUT, OUTPUT].includes(name),
  )
  const lines = priceLines(Object.fromEntries(further))
  return (
    <>
      {lines.slice(0, SHOWN_LINES).map(({ what, usd }, index) => (
        <span key={what}>
          {index > 0 && ' · '}
          {moneyText(usd)} / {what}
        </span>
      ))}
      {lines.length > SHOWN_LINES && ' · …'}
    </>
  )
}

const lineColumns: readonly Column<PriceLine>[] = [
  { title: words.what, isFirstLine: true, cell: ({ what }) => what },
  { title: words.each, isNumber: true, isFirstLine: true, cell: ({ usd }) => <Money usd={usd} /> },
]

function ModelPanel({ model }: { model: PricedModel }) {
  const kind = KINDS.find((name) => model.operations.includes(name))
  const example = exampleOf(model)
  return (
    <Panel title={model.id}>
      <p>{operationsText(model.operations)}</p>
      {model.shutdown_date && (
        <Facts
          facts={[
            [words.ends, <ModelEnd day={model.shutdown_date} key="ends" />],
            model.successor !== undefined && [words.successor, model.successor],
          ]}
        />
      )}
      {model.route && <p class="quiet">{words.route(model.route.join(', '))}</p>}
      {model.prices && (
        <Table
          label={words.priceOf(model.id)}
          columns={lineColumns}
          rows={priceLines(model.prices)}
          keyOf={({ what }) => what}
          empty={words.free}
        />
      )}
      {example && <p>{example}</p>}
      {kind && (
        <p>
          <a class="button" href={hrefOf('playground', { kind, model: model.id })}>
            {words.tryIt}
          </a>
        </p>
      )}
    </Panel>
  )
}
