// Models: which are available and why others are not, their costs and prices, their performance, and a price calculator.

import { useState } from 'preact/hooks'
import { address, hrefOf, hrefOfRow, periodQuery } from '../address'
import { call, type Reply, type RowOf } from '../api'
import { numberText } from '../language'
import { FilterBar } from '../parts/filter-bar'
import { Field, Form } from '../parts/form'
import { Loaded } from '../parts/loaded'
import { Money, moneyText, nanoOf } from '../parts/money'
import { Facts, Panel } from '../parts/panel'
import { ModelEnd, Status } from '../parts/status'
import { type Column, Table } from '../parts/table'
import { Duration } from '../parts/time'
import { useQuery } from '../query'
import { texts } from '../texts'

const words = texts.models
type Model = RowOf<'listModels'>
type Speed = Reply<'getOverview'>['models'][number]
/** Number of models that the page requests at once: a configuration has them all in memory. */
const MOST = 1_000

interface Row {
  model: Model
  speed: Speed | undefined
}

const columns: readonly Column<Row>[] = [
  { title: words.model, isFirstLine: true, cell: ({ model }) => model.id },
  {
    title: texts.state,
    isFirstLine: true,
    cell: ({ model }) => <Status state={model.available ? 'ready' : 'unavailable'} />,
  },
  {
    title: words.operations,
    priority: 3,
    cell: ({ model }) => (
      <span class="two-lines">{'operations' in model ? model.operations.join(', ') : words.route}</span>
    ),
  },
  {
    title: words.upstreams,
    cell: ({ model }) => ('upstreams' in model ? model.upstreams.join(', ') : model.route.join(' > ')),
  },
  {
    title: words.price,
    priority: 1,
    cell: ({ model }) =>
      'price' in model && (
        <span class="two-lines">
          <PriceLine price={model.price} />
        </span>
      ),
  },
  { title: words.requests, isNumber: true, cell: ({ speed }) => speed && numberText(speed.requests) },
  { title: words.failed, isNumber: true, cell: ({ speed }) => texts.share(speed?.failed, speed?.requests) },
  { title: words.firstByte, isNumber: true, cell: ({ speed }) => <Duration ms={speed?.first_byte_p50_ms} /> },
  {
    title: words.ends,
    cell: ({ model }) => 'retires' in model && model.retires && <ModelEnd day={model.retires} />,
  },
]

/** A price list in one line: tokens in and out if it has both, otherwise its first prices. */
function PriceLine({ price }: { price: Record<string, unknown> }) {
  const { per_1m_input_tokens: input, per_1m_output_tokens: output } = price
  if (amountsIn(price).every((usd) => Number(usd) === 0)) return words.free
  if (typeof input === 'string' && typeof output === 'string')
    return words.tokenPrice(moneyText(input), moneyText(output))
  const units = Object.entries(price).flatMap(([unit, each]) => {
    const least = amountsIn(each).toSorted((one, two) => Number(one) - Number(two))[0]
    if (least === undefined) return []
    return [
      typeof each === 'string'
        ? words.unitPrice(moneyText(least), unit)
        : words.unitPriceFrom(moneyText(least), unit),
    ]
  })
  return units.slice(0, 2).join(' · ') || words.free
}

/** All amounts in a price or a list of prices, including those by size and quality. */
function amountsIn(price: unknown): string[] {
  if (typeof price === 'string') return [price]
  return price !== null && typeof price === 'object' ? Object.values(price).flatMap(amountsIn) : []
}

export default function Models() {
  const { id, query } = address.value
  const period = periodQuery()
  const load = useQuery(['models', period], async (signal) => {
    const [models, overview] = await Promise.all([
      call('listModels', { query: { limit: MOST }, signal }),
      call('getOverview', { query: period, signal }),
    ])
    const speeds = new Map(overview.models.map((each) => [each.model, each]))
    return models.data.map((model): Row => ({ model, speed: speeds.get(model.id) }))
  })
  const fits = ({ model }: Row) =>
    (!query.name || model.id.includes(query.name)) &&
    (!query.upstream || ('upstreams' in model && model.upstreams.includes(query.upstream))) &&
    (!query.available || String(model.available) === query.available)
  return (
    <>
      <h1 class="hidden">{words.title}</h1>
      <FilterBar
        filters={[
          { name: 'name', title: words.model },
          { name: 'upstream', title: words.upstream },
          {
            name: 'available',
            title: texts.state,
            options: [
              ['true', texts.states.ready ?? ''],
              ['false', texts.states.unavailable ?? ''],
            ],
          },
        ]}
      />
      <Loaded of={load}>
        {(rows) => (
          <>
            <Table
              label={words.title}
              rows={rows.filter(fits)}
              columns={columns}
              keyOf={({ model }) => model.id}
              hrefOf={({ model }) => hrefOfRow(model.id)}
              openKey={id}
              empty={words.empty}
            />
            {id !== null && <ModelPanel key={id} id={id} row={rows.find(({ model }) => model.id === id)} />}
          </>
        )}
      </Loaded>
    </>
  )
}

function ModelPanel({ id, row }: { id: string; row: Row | undefined }) {
  if (!row) return <Panel title={id}>{words.unknown(id)}</Panel>
  const { model, speed } = row
  return (
    <Panel title={id}>
      <Facts
        facts={[
          [texts.state, <Status state={model.available ? 'ready' : 'unavailable'} key="state" />],
          model.reason !== null && [words.reason, model.reason],
          [words.owner, model.owned_by],
          model.aliases.length > 0 && [words.aliases, model.aliases.join(', ')],
          'route' in model && [words.route, model.route.join(' > ')],
          'upstream_model' in model && [words.upstreamModel, model.upstream_model],
          'retires' in model &&
            model.retires !== null && [words.ends, <ModelEnd day={model.retires} key="ends" />],
          'retires' in model &&
            model.successor !== null && [
              words.successor,
              model.hands_over ? words.handsOver(model.successor) : model.successor,
            ],
          speed !== undefined && [words.requests, numberText(speed.requests)],
          speed !== undefined && [words.failed, texts.share(speed.failed, speed.requests)],
          speed !== undefined && [words.duration, <Duration ms={speed.duration_p50_ms} key="duration" />],
        ]}
      />
      <p class="actions">
        <a href={hrefOf('requests', { model: id })}>{texts.requests.title}</a>
        {'upstreams' in model &&
          model.upstreams.map((name) => (
            <a href={hrefOf('upstreams', {}, name)} key={name}>
              {name}
            </a>
          ))}
      </p>
      {'price' in model && (
        <>
          <section>
            <h3>{words.price}</h3>
            <PriceTable price={model.price as PriceTree} costs={(model.cost ?? {}) as Costs} />
            {model.price_source && <p class="quiet">{words.source(model.price_source, model.price_as_of)}</p>}
          </section>
          {model.price_units.length > 0 && <Calculator model={model} />}
        </>
      )}
    </Panel>
  )
}

type PriceTree = { [key: string]: string | PriceTree }

/** A unit with its price, both as text and in dollars. */
interface PricedUnit {
  unit: string
  usd: string
}

/** The cost of a model at each of its upstreams; null if none is configured. */
type Costs = Readonly<Record<string, PriceTree | null>>

/** The price of each unit next to its cost at each upstream, and the margin as a share of the price. */
function PriceTable({ price, costs }: { price: PriceTree; costs: Costs }) {
  const rows = unitsOf(price)
  const columns: readonly Column<PricedUnit>[] = [
    { title: words.unitTitle, isFirstLine: true, cell: ({ unit }) => unit },
    { title: words.price, isNumber: true, isFirstLine: true, cell: ({ usd }) => <Money usd={usd} /> },
    ...Object.entries(costs).flatMap(([upstream, cost]) =>
      cost ? costColumns(upstream, unitsOf(cost)) : [],
    ),
  ]
  return (
    <Table label={words.price} rows={rows} columns={columns} keyOf={({ unit }) => unit} empty={words.free} />
  )
}

function costColumns(upstream: string, costs: readonly PricedUnit[]): Column<PricedUnit>[] {
  const costOf = ({ unit }: PricedUnit) => costs.find((each) => each.unit === unit)?.usd
  const marginOf = (priced: PricedUnit) => {
    const cost = costOf(priced)
    return cost && texts.share(Number(nanoOf(priced.usd) - nanoOf(cost)), Number(nanoOf(priced.usd)))
  }
  return [
    { title: words.costAt(upstream), isNumber: true, cell: (priced) => <Money usd={costOf(priced)} /> },
    { title: words.marginAt(upstream), isNumber: true, cell: marginOf },
  ]
}

/** Units with their prices; a unit with several prices, such as a picture by its size, becomes several. */
function unitsOf(price: PriceTree): PricedUnit[] {
  return Object.entries(price).flatMap(([name, each]) =>
    typeof each === 'string'
      ? [{ unit: words.unit(name), usd: each }]
      : unitsOf(each).map(({ unit, usd }) => ({ unit: `${words.unit(name)}, ${unit}`, usd })),
  )
}

type Priced = Extract<Model, { price_units: unknown }>

function Calculator({ model }: { model: Priced }) {
  const [quote, setQuote] = useState<Reply<'quotePrice'>>()
  const submit = async (values: Readonly<Record<string, string>>) => {
    const counted = model.price_units.filter((unit) => Number(values[unit]) > 0)
    const quantities = counted.map((unit) => `${unit}:${values[unit]}`).join(',')
    setQuote(
      await call('quotePrice', {
        params: { model: model.id },
        query: { quantities, variant: values.variant },
      }),
    )
  }
  return (
    <section>
      <h3>{words.calculator}</h3>
      <Form action={words.calculate} submit={submit}>
        <div class="fields">
          {model.price_units.map((unit) => (
            <Field name={unit} title={words.countedUnit(unit)} type="number" key={unit} />
          ))}
          {model.price_variants.length > 0 && (
            <Field
              name="variant"
              title={words.variant}
              options={model.price_variants.map((word) => [word, word])}
            />
          )}
        </div>
      </Form>
      {quote && (
        <div role="status">
          <Facts
            facts={[
              [words.price, <Money usd={quote.amount_usd} key="price" />],
              quote.cost_usd !== null && [words.cost, <Money usd={quote.cost_usd} key="cost" />],
              quote.margin_usd !== null && [words.margin, <Money usd={quote.margin_usd} key="margin" />],
            ]}
          />
        </div>
      )}
    </section>
  )
}
