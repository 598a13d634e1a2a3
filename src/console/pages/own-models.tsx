// Models that a key may use: what each does, what it costs in plain words, an example in dollars, and when it ends.

import { address, hrefOf, hrefOfRow } from '../address'
import { askPrices, type PricedModel } from '../key-api'
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
/** Lines of a price list that fit into a row. */
const SHOWN_LINES = 3

export default function OwnModels() {
  const load = useQuery(['prices'], askPrices)
  return (
    <>
      <h1 class="page-head">{words.title}</h1>
      <FilterBar filters={[{ name: 'model', title: words.filter }]} />
      <Loaded of={load}>{({ data }) => <Models models={data} />}</Loaded>
    </>
  )
}

const columns: readonly Column<PricedModel>[] = [
  { title: words.model, isFirstLine: true, cell: ({ id }) => id },
  { title: words.does, isFirstLine: true, cell: ({ operations }) => operationsText(operations) },
  { title: words.price, cell: (model) => <Prices model={model} /> },
  { title: words.example, cell: (model) => exampleOf(model) ?? '' },
  { title: words.ends, cell: ({ shutdown_date: day }) => day && <ModelEnd day={day} /> },
]

function operationsText(operations: readonly string[]): string {
  return operations.map((name) => texts.operations[name] ?? name).join(', ')
}

function Models({ models }: { models: readonly PricedModel[] }) {
  const { id, query } = address.value
  const wanted = query.model?.toLowerCase() ?? ''
  const shown = models.filter((model) =>
    [model.id, ...model.operations].some((text) => text.toLowerCase().includes(wanted)),
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

function Prices({ model: { prices, route } }: { model: PricedModel }) {
  if (!prices) return <span class="quiet">{route ? route.join(', ') : words.free}</span>
  const lines = priceLines(prices)
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
