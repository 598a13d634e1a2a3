// Compares vendors' bills with the charges: their own exports, dropped as files, and the prices that they report for single
// requests. The page changes nothing, and only the sums of a file are sent.

import { useRef, useState } from 'preact/hooks'
import { address, clock } from '../address'
import { ApiError, call, type Reply } from '../api'
import { numberText } from '../language'
import { Field, Form } from '../parts/form'
import { Loaded } from '../parts/loaded'
import { Money } from '../parts/money'
import { Status } from '../parts/status'
import { type Column, Table } from '../parts/table'
import { useQuery } from '../query'
import { lastMonth } from '../spans'
import { sellingTexts } from '../texts'

const words = sellingTexts.reconciliation
type Found = Reply<'reconcileUpstream'>
type Difference = Found['differences'][number]

export function Reconciliation({ upstreams }: { upstreams: readonly string[] }) {
  return (
    <>
      <ByFile upstreams={upstreams} />
      <Own />
    </>
  )
}

function ByFile({ upstreams }: { upstreams: readonly string[] }) {
  const files = useRef<HTMLInputElement>(null)
  const [found, setFound] = useState<Found>()
  return (
    <section class="part">
      <h2>{words.byFile}</h2>
      <p class="quiet">{words.byFileMeans}</p>
      <Form
        action={words.compare}
        submit={async ({ upstream = '', month = '', tolerance }) => {
          const rows = await rowsOf([...(files.current?.files ?? [])], month)
          const body = { month, rows, tolerance_percent: Number(tolerance) }
          setFound(await call('reconcileUpstream', { params: { upstream }, body }))
        }}
      >
        <label class="drop">
          <span>{words.drop}</span>
          <input ref={files} type="file" multiple accept=".csv,.tsv,text/csv" />
        </label>
        <div class="fields">
          <Field
            name="upstream"
            title={words.upstream}
            value={address.value.query.upstream ?? upstreams[0] ?? null}
            options={upstreams.map((name) => [name, name])}
          />
          <Field
            name="month"
            title={words.month}
            value={lastMonth(clock.peek())}
            hint={words.monthHint}
            isRequired
          />
          <Field name="tolerance" title={words.tolerance} value="1" isRequired />
        </div>
      </Form>
      {found && <Result found={found} />}
    </section>
  )
}

/** The sums of files in a month, by day and model. Rejects with an ApiError that says what is wrong with one of them. */
async function rowsOf(files: readonly File[], month: string) {
  if (files.length === 0) throw problem(words.noFiles)
  const { readVendorUsage, summedUsage, usageRowJson } = await import('../../lib/file-formats/vendor-usage')
  const read = files.map(async (file) => {
    const text = await file.text()
    try {
      return readVendorUsage(text)
    } catch (error) {
      throw problem(words.unreadable(file.name, error instanceof Error ? error.message : String(error)))
    }
  })
  const rows = (await Promise.all(read)).flat().filter(({ day }) => day.startsWith(`${month}-`))
  if (rows.length === 0) throw problem(words.nothingOfMonth(month))
  return summedUsage(rows).map(usageRowJson)
}

function problem(message: string): ApiError {
  return new ApiError(message, 0, null, null)
}

const differenceColumns: readonly Column<Difference>[] = [
  { title: words.day, isFirstLine: true, cell: ({ day }) => day },
  { title: words.model, isFirstLine: true, cell: ({ model }) => model },
  { title: words.figure, cell: ({ figure }) => words.figures[figure] ?? figure },
  { title: words.vendor, isNumber: true, cell: ({ vendor }) => <Figure of={vendor} /> },
  { title: words.charges, isNumber: true, cell: ({ charges }) => <Figure of={charges} /> },
]

type SumName = keyof Found['vendor']

function Result({ found }: { found: Found }) {
  const { differences, compared, vendor, charges } = found
  const names = (Object.keys(vendor) as SumName[]).filter((name) => vendor[name] !== null)
  const columns: readonly Column<SumName>[] = [
    { title: words.figure, isFirstLine: true, cell: (name) => words.figures[name] ?? name },
    { title: words.vendor, isNumber: true, cell: (name) => <Figure of={vendor[name]} /> },
    {
      title: words.charges,
      isNumber: true,
      isFirstLine: true,
      cell: (name) => <Figure of={charges[name]} />,
    },
  ]
  return (
    <>
      <p role="status" class="part">
        <Status state={found.ok ? 'ready' : 'unknown'}>
          {found.ok ? words.same(compared) : words.differ(differences.length, compared)}
        </Status>
      </p>
      {found.charges_without_figures > 0 && <p>{words.withoutFigures(found.charges_without_figures)}</p>}
      {found.shared_models.length > 0 && <p>{words.shared(found.shared_models.join(', '))}</p>}
      <section class="part">
        <h3>{words.sums}</h3>
        <Table label={words.sums} rows={names} columns={columns} keyOf={(name) => name} empty="" />
      </section>
      {differences.length > 0 && (
        <section class="part">
          <h3>{words.differences}</h3>
          <Table
            label={words.differences}
            rows={differences}
            columns={differenceColumns}
            keyOf={({ day, model, figure }) => `${day} ${model} ${figure}`}
            empty=""
          />
        </section>
      )}
    </>
  )
}

/** A count, or an amount as text. */
function Figure({ of }: { of: string | number | null }) {
  return typeof of === 'number' ? <span>{numberText(of)}</span> : <Money usd={of} />
}

const ownColumns: readonly Column<Reply<'reconcileOwn'>['models'][number]>[] = [
  { title: words.model, isFirstLine: true, cell: ({ model }) => model },
  { title: words.requests, isNumber: true, cell: ({ requests }) => numberText(requests) },
  { title: words.ours, isNumber: true, cell: ({ list_usd }) => <Money usd={list_usd} /> },
  { title: words.vendor, isNumber: true, cell: ({ vendor_usd }) => <Money usd={vendor_usd} /> },
  {
    title: words.difference,
    isNumber: true,
    isFirstLine: true,
    cell: ({ percent, differs }) => (
      <Status state={differs ? 'unknown' : 'ready'}>{`${percent} %`.replace('-', '−')}</Status>
    ),
  },
]

function Own() {
  const load = useQuery(['own reconciliation'], (signal) => call('reconcileOwn', { signal }))
  return (
    <section class="part">
      <h2>{words.own}</h2>
      <p class="quiet">{words.ownMeans}</p>
      <Loaded of={load}>
        {({ models, not_compared: notCompared }) => (
          <>
            <Table
              label={words.own}
              rows={models}
              columns={ownColumns}
              keyOf={({ model }) => model}
              empty={words.noReports}
            />
            {notCompared > 0 && <p class="quiet">{words.notCompared(notCompared)}</p>}
          </>
        )}
      </Loaded>
    </section>
  )
}
