// Statements of a key's account, for the holder of the key: all issued ones, newest first, and one in full to print or save.

import { address, hrefOfRow } from '../address'
import { urlOf } from '../api'
import { askStatement, askStatements, type OwnStatement } from '../key-api'
import { Loaded } from '../parts/loaded'
import { PagedTable, usePages } from '../parts/paged'
import { Panel } from '../parts/panel'
import type { Column } from '../parts/table'
import { useQuery } from '../query'
import { sellingTexts } from '../texts'
import { Statement, statementColumns } from './statement'

const words = sellingTexts.statements
const columns: readonly Column<OwnStatement>[] = statementColumns

export default function OwnStatements() {
  const { id } = address.value
  const pages = usePages(['own statements'], (after, signal) => askStatements({ after, limit: 50 }, signal))
  return (
    <>
      <h1 class="page-head">{words.title}</h1>
      <PagedTable
        label={words.title}
        pages={pages}
        columns={columns}
        keyOf={({ number }) => String(number)}
        hrefOf={({ number }) => hrefOfRow(String(number))}
        openKey={id}
        empty={words.noneOfHolder}
      />
      {id !== null && <StatementPanel key={id} number={id} />}
    </>
  )
}

function StatementPanel({ number }: { number: string }) {
  const load = useQuery(['own statement', number], (signal) => askStatement(number, signal))
  const path = `v1/statements/${encodeURIComponent(number)}`
  return (
    <Panel title={words.one(number)}>
      <Loaded of={load}>
        {(statement) => (
          <Statement statement={statement} fileOf={(format) => urlOf(`${path}?format=${format}`)} />
        )}
      </Loaded>
    </Panel>
  )
}
