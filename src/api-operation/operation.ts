// The form of an API operation: its path, its input, its answer, and its implementation. Requests are checked by its schemas, and
// its document and the types of its clients are made from the same schemas. It must never name an API: the admin API and that of
// callers each add who may call it and what an operation gets.

import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox'

export interface ApiOperation {
  id: string
  method: 'GET' | 'HEAD' | 'POST' | 'PATCH' | 'DELETE'
  /** Names in braces stand for words of the path: `/keys/{key}`. */
  path: string
  tag: string
  /** Title in the documentation, of a few words. */
  summary: string
  /** Sentences of the documentation. Absent: the title suffices. */
  description?: string
  /** Descriptions of the names in the path. */
  params?: Readonly<Record<string, string>>
  query?: TObject
  body?: TObject
  reply: TSchema
}

/** An operation with the types of its input and its JSON answer. */
export type TypedOperation<Operation extends ApiOperation, Id, Query, Body, Reply> = Omit<Operation, 'id'> & {
  id: Id & string
  /** For the compiler only. */
  types?: { query: Query; body: Body; reply: Reply }
}

/**
 * Makes the function that types operations of one API: the query and the body by their schemas, and the answer by what it
 * returns, which must fit the schema of the reply. The document lists them under `tag`. `Context` is what an operation of this API
 * gets.
 */
export function operationsFor<Operation extends ApiOperation, Context>(tag: string) {
  return <
    const Id extends string,
    Reply extends TSchema,
    Answer extends Static<Reply> | Response,
    Query extends TObject = TObject,
    Body extends TObject = TObject,
  >(
    definition: Definition<Omit<Operation, 'tag'>, Id, Query, Body> & {
      reply: Reply
      run(context: Context, query: Static<Query>, body: Static<Body>): Promise<Answer>
    },
  ) =>
    ({ ...withPath(definition), tag }) as object as Typed<
      Operation,
      Id,
      Query,
      Body,
      Exclude<Answer, Response>
    >
}

/** Like `operationsFor`, for an API whose answers have the types of their schemas: `operation(Reply)({ … })`. */
export function exactOperationsFor<Operation extends ApiOperation, Context>() {
  return <Reply extends TSchema>(reply: Reply) =>
    <const Id extends string, Query extends TObject = TObject, Body extends TObject = TObject>(
      definition: Definition<Operation, Id, Query, Body> & {
        run(context: Context, query: Static<Query>, body: Static<Body>): Promise<Static<Reply> | Response>
      },
    ) =>
      ({ ...withPath(definition), reply }) as object as Typed<Operation, Id, Query, Body, Static<Reply>>
}

interface Endpoint {
  /** The method and the path: `GET /keys/{key}`. */
  endpoint: `${ApiOperation['method']} /${string}`
}

function withPath<Given extends Endpoint>({ endpoint, ...definition }: Given) {
  const [method, path] = endpoint.split(' ')
  return { ...definition, method, path }
}

type Written = 'id' | 'method' | 'path' | 'run' | 'query' | 'body' | 'reply'
type Definition<Operation, Id, Query, Body> = Omit<Operation, Written> &
  Endpoint & {
    id: Id
    query?: Query
    body?: Body
  }
type Typed<
  Operation extends ApiOperation,
  Id,
  Query extends TObject,
  Body extends TObject,
  Reply,
> = TypedOperation<Operation, Id, Static<Query>, Static<Body>, Reply>

/** One of several words. */
export const OneOf = <const Word extends string>(words: readonly Word[], options: string | object = {}) =>
  Type.Unsafe<Word>(
    Type.Union(
      words.map((word) => Type.Literal(word)),
      typeof options === 'string' ? { description: options } : options,
    ),
  )
export const Nullable = <Schema extends TSchema>(schema: Schema, options: object = {}) =>
  Type.Union([schema, Type.Null()], options)
export const open = { additionalProperties: true }
