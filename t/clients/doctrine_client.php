<?php
// Run by t/clients/drivers.pl: rows by Doctrine. The server is named by PGHOST, PGPORT, PGDATABASE and PGUSER.
require 'Doctrine/ORM/autoload.php';

use Doctrine\DBAL\DriverManager;
use Doctrine\ORM\Configuration;
use Doctrine\ORM\EntityManager;
use Doctrine\ORM\EntityManagerInterface;
use Doctrine\ORM\Id\AbstractIdGenerator;
use Doctrine\ORM\Mapping as ORM;
use Doctrine\ORM\Mapping\Driver\AttributeDriver;

class NextId extends AbstractIdGenerator
{
    public function generateId(EntityManagerInterface $em, $entity): mixed
    {
        return $em->getConnection()->fetchOne('SELECT ids.next_id()');
    }
}

#[ORM\Entity, ORM\Table(name: 'orders')]
class Order
{
    #[ORM\Id, ORM\Column(type: 'bigint'), ORM\GeneratedValue('CUSTOM'), ORM\CustomIdGenerator(NextId::class)]
    public $id;

    #[ORM\Column]
    public string $customer = 'Ada';
}

$configuration = new Configuration();
$configuration->setMetadataDriverImpl(new AttributeDriver([]));
$configuration->setProxyDir(sys_get_temp_dir());
$configuration->setProxyNamespace('Proxies');
[$host, $port, $dbname, $user] = array_map('getenv', ['PGHOST', 'PGPORT', 'PGDATABASE', 'PGUSER']);
$manager = new EntityManager(
    DriverManager::getConnection(['driver' => 'pdo_pgsql'] + compact('host', 'port', 'dbname', 'user')), $configuration);

$orders = [new Order(), new Order(), new Order()];
array_map([$manager, 'persist'], $orders);
$manager->flush();
$manager->clear();
$exact = $manager->getRepository(Order::class)->findOneBy(['customer' => 'exact'])->id;
$lines = [
    ['version', Doctrine\ORM\Version::VERSION],
    ['created', $orders[0]->id],
    ['several', $orders[1]->id, $orders[2]->id],
    ['type', gettype($exact)],
    ['exact', $exact],
    ['found', $manager->find(Order::class, $orders[0]->id)->customer],
];
foreach ($lines as $line) {
    echo implode("\t", $line), "\n";
}
