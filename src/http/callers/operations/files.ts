// GET /v1/artifacts/{id}: a stored result, for anybody with its signed URL; no key is needed.

import { Type } from '@sinclair/typebox'
import { fileAnswers } from '../../../api-document/described'
import { headerOf, type Parameter } from '../../../api-document/schema'
import { refusing } from '../../../api-operation/values'
import { ARTIFACTS_PATH } from '../../../artifacts/addresses'
import { fileNotFound, sendArtifact } from '../../kept-files'
import { openOperation } from '../operation'

export const range: Parameter = {
  name: 'Range',
  in: 'header',
  description: 'A part of the file: `bytes=0-1023`.',
  schema: { type: 'string' },
}

const part = refusing(Type.String({ description: 'Part of the signed address.' }), fileNotFound)

const operationOf = <const Id extends string>(id: Id, method: 'GET' | 'HEAD', summary: string) =>
  openOperation(Type.Unsafe<Response>())({
    id,
    endpoint: `${method} ${ARTIFACTS_PATH}/{id}`,
    aliases: [],
    access: 'no key',
    tag: 'Files',
    summary,
    params: { id: 'The id of the file.' },
    query: Type.Object({ expires: part, signature: part }),
    parameters: [range],
    furtherAnswers: {
      ...fileAnswers('application/octet-stream'),
      '304': {
        description: 'It is the one that the caller has.',
        headers: { 'x-request-id': headerOf('x-request-id'), etag: headerOf('etag') },
      },
    },
    missing: fileNotFound(),
    async run({ world, params: { id = '' }, request, requestId }, { expires, signature }) {
      const artifact = await world.artifacts?.find(id, expires, signature)
      if (!artifact) throw fileNotFound()
      return sendArtifact(world, artifact, request, requestId)
    },
  })

export const fileOperations = [
  operationOf('getFile', 'GET', 'A kept result by its signed address'),
  operationOf('headFile', 'HEAD', 'The same without its bytes'),
]
