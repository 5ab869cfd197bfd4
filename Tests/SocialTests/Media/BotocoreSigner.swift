import Foundation
import PrivateServers
import Testing

/// botocore's own signer, called with many requests at once.
enum BotocoreSigner {
  struct Case: Codable {
    var accessKey: String
    var secret: String
    var region: String
    var method: String
    var scheme: String
    var authority: String
    var path: String
    var query: [[String]]
    var fields: [[String]]
    var payload: String
    /// `YYYY-MM-DDTHH:MM:SS`, in UTC.
    var date: String
    var seconds: Int
  }

  struct Answer: Codable {
    var authorization: String
    /// Signed in its query.
    var url: String
    /// Signed in a header field.
    var plainURL: String
  }

  private static let script = """
    import datetime, json, sys
    import botocore.auth as auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials
    from botocore.utils import percent_encode, percent_encode_sequence

    def request(case):
        url = f"{case['scheme']}://{case['authority']}{percent_encode(case['path'], safe='/~')}"
        if case['query']:
            url += '?' + percent_encode_sequence([tuple(pair) for pair in case['query']])
        request = AWSRequest(case['method'], url)
        for name, value in case['fields']:
            request.headers.add_header(name, value)
        return request

    answers = []
    for case in json.load(open(sys.argv[1])):
        now = datetime.datetime.fromisoformat(case['date'])
        auth.get_current_datetime = lambda *_, **__: now
        credentials = Credentials(case['accessKey'], case['secret'])
        header = auth.S3SigV4Auth(credentials, 's3', case['region'])
        header.payload = lambda _: case['payload']
        signed, presigned = request(case), request(case)
        header.add_auth(signed)
        auth.S3SigV4QueryAuth(credentials, 's3', case['region'], expires=case['seconds']).add_auth(presigned)
        answers.append({'authorization': signed.headers['Authorization'], 'url': presigned.url, 'plainURL': signed.url})
    json.dump(answers, open(sys.argv[2], 'w'))
    """

  static func answers(to cases: [Case]) async throws -> [Answer] {
    let folder = FileManager.default.temporaryDirectory.appending(path: "fanmill-signer-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let paths = ["sign.py", "cases", "answers", "log"].map { folder.appending(path: $0) }
    try Data(script.utf8).write(to: paths[0])
    try JSONEncoder().encode(cases).write(to: paths[1])
    let status = try await ServerProcess.run(
      ServerProcess.Plan(
        program: try MotoServer.tool("python"), arguments: paths.prefix(3).map(\.path), log: paths[3].path,
        folder: folder.path))
    let log = try String(contentsOf: paths[3], encoding: .utf8)
    try #require(status == 0, "\(log)")
    let answers = try JSONDecoder().decode([Answer].self, from: Data(contentsOf: paths[2]))
    try FileManager.default.removeItem(at: folder)
    return answers
  }
}
