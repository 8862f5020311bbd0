# Run by t/clients/drivers.pl: a migration and rows by Active Record, and its two ways to dump the schema. PGHOST,
# PGPORT and PGDATABASE name the server, and a database with the extension. PGDATABASE_OF_MIGRATIONS names an empty one,
# PGDATABASE_OF_SCHEMA_RB and PGDATABASE_OF_STRUCTURE_SQL two to load the dumps. The argument is a directory for these.
require 'logger'
require 'stringio'
require 'yaml'
require 'active_record'
require 'fileutils'

def say(name, *values)
  puts [name, *values].join("\t")
end

class CreateShardid < ActiveRecord::Migration[6.1]
  def up
    execute File.read('db/create_shardid.sql')
  end
end

class CreateOrders < ActiveRecord::Migration[6.1]
  def change
    create_table :orders, id: :bigint, default: -> { 'ids.next_id()' } do |t|
      t.text :customer
    end
  end
end

class ApplicationRecord < ActiveRecord::Base
  self.abstract_class = true

  def serializable_hash(*) = super.to_h { |name, value| [name, name.match?(/(\A|_)id\z/) ? value&.to_s : value] }
end

class Order < ApplicationRecord
end

class Photo < ApplicationRecord
end

# Of config/database.yml.
CONFIGURATION = YAML.load_file('t/clients/database.yml')['test']
FileUtils.mkdir_p("#{ARGV[0]}/db")
FileUtils.cp('t/clients/create_shardid.sql', "#{ARGV[0]}/db")
Dir.chdir(ARGV[0])

def connect(database)
  ActiveRecord::Base.establish_connection(CONFIGURATION.merge('database' => database))
end

say 'version', ActiveRecord.version
ActiveRecord::Migration.verbose = false
{ 'of_empty' => 'PGDATABASE_OF_MIGRATIONS', 'of_existing' => 'PGDATABASE' }.each do |name, database|
  connect(ENV[database])
  [CreateShardid, CreateOrders].each { |migration| migration.migrate(:up) }
  say name, Order.create!(customer: 'Ada').id >> 10 & 8191
end

order = Order.create!(customer: 'Ada')
say 'created', order.id
say 'type', order.id.class
say 'json', order.to_json
say 'json_of_reference', Photo.new(id: order.id, user_id: order.id).to_json, Photo.new.to_json
say 'several', *Order.insert_all([{ customer: 'Ada' }, { customer: 'Grace' }]).rows.flatten
say 'several_made', *Order.create!([{ customer: 'Ada' }, { customer: 'Grace' }]).map(&:id)
Order.create!(id: 4032112536055714817, customer: 'exact')
say 'exact', Order.find_by(customer: 'exact').id
say 'sharded', Photo.create!(user_id: 4007).id, *Photo.insert_all([{ user_id: 7 }, { user_id: 2007 }]).rows.flatten

# config.active_record.schema_format = :sql
structure = "#{ARGV[0]}/structure.sql"
configuration = ActiveRecord::DatabaseConfigurations::HashConfig.new('test', 'primary', adapter: 'postgresql',
                                                                     database: ENV['PGDATABASE'])
ActiveRecord::Tasks::DatabaseTasks.structure_dump(configuration, structure)
say 'structure', *File.read(structure).scan(/^CREATE (?:SCHEMA|EXTENSION IF NOT EXISTS) \S+/)

# config.active_record.schema_format = :ruby
schema = StringIO.new
pool = ActiveRecord::Base.respond_to?(:connection_pool) && ActiveRecord.version >= Gem::Version.new('7.2')
ActiveRecord::SchemaDumper.dump(pool ? ActiveRecord::Base.connection_pool : ActiveRecord::Base.connection, schema)
say 'schema', schema.string.match(/create_table "orders".*/)
connect(ENV['PGDATABASE_OF_SCHEMA_RB'])
begin
  ActiveRecord::Schema.verbose = false
  eval schema.string
rescue ActiveRecord::StatementInvalid => e
  say 'loaded', e.cause.class
end

connect(ENV['PGDATABASE_OF_STRUCTURE_SQL'])
other = ActiveRecord::DatabaseConfigurations::HashConfig.new('test', 'primary', adapter: 'postgresql',
                                                             database: ENV['PGDATABASE_OF_STRUCTURE_SQL'])
ActiveRecord::Tasks::DatabaseTasks.structure_load(other, structure)
connect(ENV['PGDATABASE_OF_STRUCTURE_SQL'])
Order.reset_column_information
say 'restored', Order.create!(customer: 'Ada').id
