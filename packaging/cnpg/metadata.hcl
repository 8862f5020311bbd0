metadata = {
  name                     = "shardid"
  sql_name                 = "shardid"
  image_name               = "shardid"
  licenses                 = ["PostgreSQL"]
  shared_preload_libraries = []
  postgresql_parameters    = {}
  extension_control_path   = []
  dynamic_library_path     = []
  ld_library_path          = []
  bin_path                 = []
  env                      = {}
  auto_update_os_libs      = false
  required_extensions      = []
  create_extension         = true

  versions = {
    bookworm = {
      "18" = {
        // renovate: suite=bookworm-pgdg depName=postgresql-18-shardid
        package = "1.0.0-1.pgdg12+1"
        // renovate: suite=bookworm-pgdg depName=postgresql-18-shardid extractVersion=^(?<version>\d+\.\d+)
        sql     = "1.0"
      }
    }
    trixie = {
      "18" = {
        // renovate: suite=trixie-pgdg depName=postgresql-18-shardid
        package = "1.0.0-1.pgdg13+1"
        // renovate: suite=trixie-pgdg depName=postgresql-18-shardid extractVersion=^(?<version>\d+\.\d+)
        sql     = "1.0"
      }
    }
  }
}
