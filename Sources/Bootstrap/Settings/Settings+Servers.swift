import HiredisClient
import LibPQClient

extension Settings {
  /// - Throws: if the URL is missing or invalid.
  public func redisConfiguration() throws(SettingsError) -> RedisConfiguration {
    guard let redisURL else { throw .missing(.redisURL) }
    do throws(RedisError) {
      return try RedisConfiguration(url: redisURL.value)
    } catch {
      throw refusal(of: .redisURL, value: redisURL.value, because: error.message)
    }
  }

  /// - Throws: if the URL is missing or invalid.
  public func postgresConfiguration() throws(SettingsError) -> PostgresConfiguration {
    guard let postgresURL else { throw .missing(.postgresURL) }
    do throws(PostgresError) {
      return try PostgresConfiguration(url: postgresURL.value)
    } catch {
      throw refusal(of: .postgresURL, value: postgresURL.value, because: error.message)
    }
  }

  /// - Returns: nil if there is no replica.
  /// - Throws: if the URL is invalid.
  public func postgresReplicaConfiguration() throws(SettingsError) -> PostgresConfiguration? {
    guard let postgresReplicaURL else { return nil }
    do throws(PostgresError) {
      return try PostgresConfiguration(url: postgresReplicaURL.value, several: .preferStandby)
    } catch {
      throw refusal(of: .postgresReplicaURL, value: postgresReplicaURL.value, because: error.message)
    }
  }
}
